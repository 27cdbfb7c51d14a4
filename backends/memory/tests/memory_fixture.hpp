#pragma once

#include <holdfast/backend.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::memory_tests {

using namespace std::chrono_literals;

/// Time that stands still until it is moved, for all clients of a test.
struct manual_clock {
  std::atomic<std::int64_t> nanoseconds{std::chrono::nanoseconds(100h).count()};

  spi::time_point now() const { return spi::time_point(std::chrono::nanoseconds(nanoseconds)); }
  void advance(std::chrono::nanoseconds by) { nanoseconds += by.count(); }
};

/// An engine that does nothing but tell the time and note what was lost.
class manual_runtime final : public spi::runtime {
 public:
  manual_runtime(const manual_clock& clock, std::string client_name)
      : clock_(clock), who_{"machine", 4711, std::move(client_name)} {}

  spi::time_point now() const noexcept override { return clock_.now(); }
  const spi::identity& who() const noexcept override { return who_; }
  const client_options& options() const noexcept override { return options_; }
  void log(log_level, std::string_view) noexcept override {}
  void post(detail::unique_function<void()>) override { ADD_FAILURE() << "memory: never blocks"; }
  timer at(spi::time_point, detail::unique_function<void()>) override {
    ADD_FAILURE() << "memory: needs no timers";
    return 0;
  }
  void cancel(timer) noexcept override {}
  void on_readable(int, std::function<void()>) override { ADD_FAILURE() << "memory: has no descriptors"; }
  void forget(int) noexcept override {}
  void lost(const spi::owner_id& id, loss cause) noexcept override {
    std::lock_guard lock(mutex_);
    lost_.emplace_back(id, cause);
  }

  std::vector<std::pair<spi::owner_id, loss>> lost_so_far() const {
    std::lock_guard lock(mutex_);
    return lost_;
  }

 private:
  const manual_clock& clock_;
  const spi::identity who_;
  const client_options options_;
  mutable std::mutex mutex_;
  std::vector<std::pair<spi::owner_id, loss>> lost_;
};

/// Made the way connect() makes it.
inline result<std::unique_ptr<spi::backend>> open_store(const std::string& url, spi::runtime& engine) {
  auto where = uri::parse(url);
  if (!where) return where.error();
  for (const auto& known : spi::all_backends()) {
    if (known.scheme == where->scheme && known.make != nullptr) return known.make(*where, engine);
  }
  return {errc::unsupported, "no backend for " + url};
}

/// What a call that answers at once answered.
template <class T>
class answer {
 public:
  spi::completion<T> slot() {
    return [this](result<T> got) {
      ASSERT_FALSE(got_.has_value()) << "completed twice";
      got_.emplace(std::move(got));
    };
  }
  bool came() const { return got_.has_value(); }
  const result<T>& get() const { return got_.value(); }

 private:
  std::optional<result<T>> got_;
};

/// A client of the test's own store.
class member {
 public:
  member(const manual_clock& clock, const std::string& url, std::string client_name = "tester")
      : engine(clock, std::move(client_name)), store(std::move(open_store(url, engine)).value()) {}

  result<spi::entry_result> enter(const spi::claim& c, bool queue = true, std::uint32_t tokens = 1) {
    answer<spi::entry_result> said;
    store->enter({c, queue, tokens, spi::caller::must_not_block}, said.slot());
    return said.get();
  }
  /// The grant, or a failed test.
  spi::granted take(const spi::claim& c, std::uint32_t tokens = 1) {
    const auto said = enter(c, false, tokens);
    if (!said || !std::holds_alternative<spi::granted>(*said)) {
      ADD_FAILURE() << "not granted: " << c.name << (said ? "" : ": " + said.error().detail);
      return {};
    }
    return std::get<spi::granted>(*said);
  }
  bool is_busy(const spi::claim& c, bool queue = true) {
    const auto said = enter(c, queue);
    return said && std::holds_alternative<spi::busy>(*said);
  }
  bool leave(const spi::claim& c) {
    answer<bool> said;
    store->leave(c, spi::caller::must_not_block, said.slot());
    return said.get().value();
  }
  spi::renewal_outcome renew(const spi::claim& c) {
    answer<std::vector<spi::renewal_outcome>> said;
    store->renew({c}, said.slot());
    return said.get().value().at(0);
  }
  result<bool> convert(const spi::claim& c, spi::access to) {
    answer<bool> said;
    store->convert(c, to, spi::caller::must_not_block, said.slot());
    return said.get();
  }
  result<spi::count_reply> count(const spi::count_request& request) {
    answer<spi::count_reply> said;
    store->count(request, spi::caller::must_not_block, said.slot());
    return said.get();
  }
  std::vector<entry> inspect(const std::string& prefix = {}) {
    answer<std::vector<entry>> said;
    store->inspect(prefix, said.slot());
    return said.get().value();
  }
  bool evict(const std::string& name) {
    answer<bool> said;
    store->evict(name, said.slot());
    return said.get().value();
  }

  manual_runtime engine;
  std::unique_ptr<spi::backend> store;
};

/// A store of its own for every test, with two clients.
class memory_store : public testing::Test {
 protected:
  static std::string own_url() {
    return std::string("memory:") + testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  static spi::claim mutex_claim(std::string name = "a") { return claim_of(std::move(name), spi::kind::mutex); }
  static spi::claim writer(std::string name = "a") { return claim_of(std::move(name), spi::kind::shared_mutex); }
  static spi::claim reader(std::string name = "a") {
    auto c = writer(std::move(name));
    c.access = spi::access::shared;
    return c;
  }
  static spi::claim permits_claim(std::uint32_t permits, std::uint32_t limit, std::string name = "a") {
    auto c = claim_of(std::move(name), spi::kind::permits);
    c.permits = permits;
    c.limit = limit;
    return c;
  }
  static spi::claim claim_of(std::string name, spi::kind kind) {
    spi::claim c;
    c.name = std::move(name);
    c.kind = kind;
    c.id = spi::owner_id::random();
    c.ttl = 10s;
    return c;
  }

  manual_clock clock;
  member one{clock, own_url(), "first"};
  member two{clock, own_url(), "second"};
};

inline bool was_granted(const answer<spi::wake>& woken) {
  return woken.came() && woken.get() && std::holds_alternative<spi::granted>(*woken.get());
}
inline bool looks_again(const answer<spi::wake>& woken) {
  return woken.came() && woken.get() && std::holds_alternative<spi::look_again>(*woken.get());
}

}  // namespace holdfast::memory_tests
