#include "session.hpp"

#include <holdfast/testing/history.hpp>
#include <holdfast/testing/shared_counter.hpp>

#include <exception>
#include <stdexcept>

namespace holdfast::testing {

namespace {

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

/// The number of the errc first, so that tests need not read sentences.
std::string tell(const std::error_code& code, const std::string& text) {
  return one_line("error " + std::to_string(code.value()) + " " + text);
}

std::string tell(const result<void>& outcome) {
  return outcome ? "ok" : tell(outcome.error().code, outcome.error().detail);
}

lock_options order_of(const command& c) {
  return {.order = c.option("order") == "fifo" ? ordering::fifo : ordering::any};
}

}  // namespace

std::string session::run(const std::string& line) noexcept {
  try {
    return answer(command::parse(line));
  } catch (const error& failed) {
    return tell(failed.code(), failed.what());
  } catch (const std::exception& failed) {
    return one_line(std::string("error 0 ") + failed.what());
  }
}

void session::cancel() {
  std::lock_guard lock(stop_mutex_);
  stop_.request_stop();
}

std::stop_token session::fresh_stop() {
  std::lock_guard lock(stop_mutex_);
  stop_ = std::stop_source();
  return stop_.get_token();
}

std::string session::answer(const command& c) {
  const std::string& verb = c.word(0);
  if (verb == "connect") return connect_to(c);
  if (!client_) return "error 0 connect first";
  if (verb == "acquire" || verb == "try") return acquire(c);
  if (verb == "release" || verb == "renew" || verb == "token" || verb == "valid" || verb == "lost" || verb == "cause") {
    return of_lease(c);
  }
  if (verb == "lock" || verb == "unlock" || verb == "try_lock") return std_face(c);
  if (verb == "count") return count(c);
  if (verb == "take" || verb == "give" || verb == "count_down" || verb == "wait") return counted_primitives(c);
  return registers(c);
}

std::string session::connect_to(const command& c) {
  client_options options;
  if (const auto ttl = c.duration("ttl")) options.ttl = *ttl;
  if (const auto limit = c.duration("request")) options.request_timeout = *limit;
  options.name = c.option("name", "lock_holder");
  client_ = connect(c.word(1), options);
  return "ok";
}

exclusive_lock& session::lock_for(const command& c) {
  const auto kind = lock_kind_of(c.word(1));
  if (!kind) throw std::invalid_argument("no such kind of lock: " + c.word(1));
  auto& known = locks_[c.word(1) + " " + c.word(2) + " " + c.option("order")];
  if (!known) known = make_lock(*kind, *client_, c.word(2), order_of(c));
  return *known;
}

std::optional<lease> session::enter(const command& c) {
  const std::stop_token stop = fresh_stop();
  const acquire_options how = c.acquisition();
  const bool wait = c.word(0) == "acquire";
  if (c.word(1) == "reader") {
    auto& known = shared_[c.word(2) + " " + c.option("order")];
    if (!known) known = std::make_unique<shared_mutex>(*client_, c.word(2), order_of(c));
    if (wait) return known->acquire_shared(how, stop);
    return known->try_acquire_shared(how, stop);
  }
  if (c.word(1) == "permits") {
    const auto limit = static_cast<std::uint32_t>(std::stoul(c.option("of", "1")));
    const auto wanted = static_cast<std::uint32_t>(std::stoul(c.option("permits", "1")));
    auto& known = permits_[c.word(2) + " " + c.option("of")];
    if (!known) known = std::make_unique<permit_semaphore>(*client_, c.word(2), limit, order_of(c));
    if (wait) return known->acquire(how, stop, wanted);
    return known->try_acquire(how, stop, wanted);
  }
  exclusive_lock& lock = lock_for(c);
  if (wait) return lock.acquire(how, stop);
  return lock.try_acquire(how, stop);
}

std::string session::acquire(const command& c) {
  std::optional<lease> got = enter(c);
  if (!got) return "busy";
  const std::string reply = "granted " + std::to_string(got->token().value());
  leases_.insert_or_assign(c.option("as"), std::move(*got));
  return reply;
}

std::string session::of_lease(const command& c) {
  const auto found = leases_.find(c.option("as"));
  if (found == leases_.end()) return "error 0 no such lease";
  lease& held = found->second;
  const std::string& verb = c.word(0);
  if (verb == "renew") return tell(held.renew());
  if (verb == "token") return std::to_string(held.token().value());
  if (verb == "valid") return held.valid() ? "yes" : "no";
  if (verb == "lost") return held.lost().stop_requested() ? "yes" : "no";
  if (verb == "cause") return std::to_string(static_cast<int>(held.loss_cause()));
  const std::string reply = tell(held.release());
  leases_.erase(found);
  return reply;
}

std::string session::std_face(const command& c) {
  exclusive_lock& lock = lock_for(c);
  if (c.word(0) == "try_lock") return lock.try_lock() ? "yes" : "no";
  if (c.word(0) == "lock") {
    lock.lock();
  } else {
    lock.unlock();
  }
  return "ok";
}

std::string session::count(const command& c) {
  shared_counter counter(c.option("counter"));
  std::optional<history_writer> history;
  if (!c.option("history").empty()) history.emplace(c.option("history"));
  exclusive_lock& lock = lock_for(c);
  const long loops = c.number(3, 1);
  for (long i = 0; i < loops; ++i) {
    lease held = lock.acquire();
    if (history) history->granted(held.token());
    counter.increment();
    const auto before = lease_clock::now();
    if (!held.valid()) throw std::runtime_error("lost the lock while counting");
    if (history) {
      history->valid(held.token(), before);
      history->released(held.token());
    }
    const auto left = held.release();
    // Where a server is harmed, the answer may take longer than the lease; what was counted was counted while it held.
    if (!left && !(left.error().code == errc::lost && c.option("late") == "yes")) left.value();
  }
  return "counted " + std::to_string(loops);
}

std::string session::counted_primitives(const command& c) {
  const std::string& verb = c.word(0);
  if (verb == "take" || verb == "give") {
    counting_semaphore semaphore(*client_, c.word(1));
    if (verb == "give") {
      semaphore.release(c.number(2, 1));
    } else {
      semaphore.acquire(c.number(2, 1));
    }
    return "ok";
  }
  latch gate(*client_, c.word(1));
  if (verb == "count_down") {
    gate.count_down(c.number(2, 1));
    return "ok";
  }
  return gate.wait_within(c.acquisition().wait.value_or(std::chrono::hours(1))) ? "open" : "closed";
}

std::string session::registers(const command& c) {
  const std::string& verb = c.word(0);
  if (verb == "add") {
    cell number(*client_, c.word(1));
    for (long i = 0; i < c.number(2, 1); ++i) {
      number.update([](const std::string& old) { return std::to_string(old.empty() ? 1 : std::stol(old) + 1); });
    }
    return "ok";
  }
  if (verb == "admit") return fence(*client_, c.word(1)).admit(std::stoull(c.word(2))) ? "yes" : "no";
  if (verb == "stripe") {
    striped_mutex stripes(*client_, c.word(1), static_cast<std::uint32_t>(c.number(2, 1)));
    return stripes.for_key(c.word(3)).name();
  }
  return "error 0 no such command: " + verb;
}

}  // namespace holdfast::testing
