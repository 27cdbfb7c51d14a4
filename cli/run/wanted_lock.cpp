#include "wanted_lock.hpp"

#include <holdfast/error.hpp>

namespace holdfast::cli {

wanted_lock::wanted_lock(client store, const run_request& request) : store_(std::move(store)), request_(request) {
  make();
}

void wanted_lock::make() {
  const lock_options options{.order = request_.order};
  const bool plain = (request_.as == run_request::hold::exclusive) != other_kind_;
  if (request_.as == run_request::hold::permits) {
    lock_.emplace<permit_semaphore>(store_, request_.name, request_.limit, options);
  } else if (plain) {
    lock_.emplace<mutex>(store_, request_.name, options);
  } else {
    lock_.emplace<shared_mutex>(store_, request_.name, options);
  }
}

bool wanted_lock::use_other_kind() {
  if (request_.as == run_request::hold::permits) return false;
  other_kind_ = !other_kind_;
  try {
    make();
    return true;
  } catch (const error& refused) {
    if (refused.code() != errc::unsupported) throw;
    return false;
  }
}

std::optional<lease> wanted_lock::try_now() {
  if (auto* const alone = std::get_if<mutex>(&lock_)) return alone->try_acquire();
  if (auto* const either = std::get_if<shared_mutex>(&lock_)) {
    return reads() ? either->try_acquire_shared() : either->try_acquire();
  }
  return std::get<permit_semaphore>(lock_).try_acquire({}, {}, request_.permits);
}

operation<lease> wanted_lock::ask(optional_duration wait, std::stop_token stop) {
  const acquire_options options{.wait = wait};
  if (auto* const alone = std::get_if<mutex>(&lock_)) return alone->async_acquire(options, std::move(stop));
  if (auto* const either = std::get_if<shared_mutex>(&lock_)) {
    return reads() ? either->async_acquire_shared(options, std::move(stop))
                   : either->async_acquire(options, std::move(stop));
  }
  return std::get<permit_semaphore>(lock_).async_acquire(options, std::move(stop), request_.permits);
}

}  // namespace holdfast::cli
