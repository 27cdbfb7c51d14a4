#pragma once

#include <holdfast/error.hpp>

#include <string>
#include <string_view>

namespace holdfast::memcached {

/// What an error the server replies means to the caller; `detail` keeps the server's own words.
failure failure_of(std::string_view error_reply);

/// May what follows on the connection be trusted? After a command that was not understood its rest may be taken for
/// the next one.
bool keeps_in_step(std::string_view error_reply) noexcept;

/// A connection that could not be made or ended: errc::unavailable.
failure broken(const std::string& where, std::string_view what);
failure broken(const std::string& where, std::string_view what, int error_number);

}  // namespace holdfast::memcached
