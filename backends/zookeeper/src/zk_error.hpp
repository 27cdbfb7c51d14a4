#pragma once

#include <holdfast/error.hpp>

#include <string_view>

namespace holdfast::zookeeper {

/// What a code of the client library means to the caller; `doing` names the request, `detail` keeps the native code.
failure failure_of(int code, std::string_view doing);

/// May the request have been carried out although there was no answer?
bool outcome_unknown(int code) noexcept;

/// Is this the answer of a quorum to a request to change something? That includes its refusal, which is a transaction
/// too.
bool agreed(int code) noexcept;

}  // namespace holdfast::zookeeper
