#pragma once

#include "request.hpp"

#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/operation.hpp>
#include <holdfast/permit_semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <optional>
#include <stop_token>
#include <variant>

namespace holdfast::cli {

/// The lock a request asks for, as one of the library's primitives.
///
/// Alone means a mutex, --shared the reading side of a shared_mutex. A store refuses to mix the two on one name, but a
/// user who says `run NAME` here and `run --shared NAME` there expects them to wait for each other, as with flock(1).
/// So whoever comes to a name in the other use takes the other kind's exclusive side.
class wanted_lock {
 public:
  /// Throws holdfast::error: invalid_argument, unsupported.
  wanted_lock(client store, const run_request& request);

  std::optional<lease> try_now();
  operation<lease> ask(optional_duration wait, std::stop_token stop);

  /// From now on asks for the other kind. False: there is none for this request or on this store.
  bool use_other_kind();

 private:
  /// Whether `lock_` is wanted for reading.
  bool reads() const { return request_.as == run_request::hold::shared && !other_kind_; }
  void make();

  client store_;
  const run_request& request_;
  bool other_kind_ = false;
  std::variant<std::monostate, mutex, shared_mutex, permit_semaphore> lock_;
};

}  // namespace holdfast::cli
