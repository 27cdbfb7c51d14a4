#pragma once

#include "live_runtime.hpp"

#include <holdfast/backend.hpp>
#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::file_tests {

using namespace std::chrono_literals;
using holdfast::testing::eventually;
using holdfast::testing::live_timeout;

inline result<std::unique_ptr<spi::backend>> open_store(const std::string& url, spi::runtime& engine) {
  auto where = uri::parse(url);
  if (!where) return where.error();
  for (const auto& known : spi::all_backends()) {
    if (known.scheme == where->scheme && known.make != nullptr) return known.make(*where, engine);
  }
  return {errc::unsupported, "no backend for " + url};
}

/// A completion's outcome, to be waited for.
template <class T>
class answer {
 public:
  spi::completion<T> slot() {
    return [this](result<T> got) { promise_.set_value(std::move(got)); };
  }
  bool comes_within(std::chrono::nanoseconds limit) const {
    return future_.wait_for(limit) == std::future_status::ready;
  }
  const result<T>& get() const {
    if (!comes_within(live_timeout)) throw std::runtime_error("no answer");
    return future_.get();
  }

 private:
  std::promise<result<T>> promise_;
  std::shared_future<result<T>> future_ = promise_.get_future().share();
};

/// A client of a directory.
class member {
 public:
  explicit member(const std::string& url) : store(std::move(open_store(url, engine)).value()) {}

  result<spi::entry_result> enter(const spi::claim& c, bool queue = true, std::uint32_t tokens = 1,
                                  spi::caller from = spi::caller::may_block) {
    answer<spi::entry_result> said;
    store->enter({c, queue, tokens, from}, said.slot());
    return said.get();
  }
  /// The grant, without waiting, or a failed test.
  spi::granted take(const spi::claim& c, std::uint32_t tokens = 1) {
    const auto said = enter(c, false, tokens);
    if (!said || !std::holds_alternative<spi::granted>(*said)) {
      ADD_FAILURE() << "not granted: " << c.name << (said ? "" : ": " + said.error().detail);
      return {};
    }
    return std::get<spi::granted>(*said);
  }
  /// The grant, waiting in the kernel.
  spi::granted wait(const spi::claim& c) {
    return std::get<spi::granted>(enter(c, true, 1, spi::caller::waits).value());
  }
  /// The grant, waiting as the engine does for callers with a deadline.
  spi::granted wait_by_watching(const spi::claim& c) {
    std::unique_ptr<answer<spi::wake>> woken;  // one watch at a time; a grant ends it
    for (;;) {
      const auto said = enter(c, true, 1, spi::caller::must_not_block);
      if (const auto* grant = std::get_if<spi::granted>(&said.value())) {
        if (woken) woken->get();
        return *grant;
      }
      if (!woken) {
        woken = std::make_unique<answer<spi::wake>>();
        store->watch(c, woken->slot());
      }
      if (woken->comes_within(std::get<spi::busy>(said.value()).look_again - engine.now())) woken.reset();
    }
  }
  bool is_busy(const spi::claim& c, bool queue = false) {
    const auto said = enter(c, queue);
    return said && std::holds_alternative<spi::busy>(*said);
  }
  bool leave(const spi::claim& c) {
    answer<bool> said;
    store->leave(c, spi::caller::may_block, said.slot());
    return said.get().value();
  }
  spi::renewal renew(const spi::claim& c) {
    answer<std::vector<spi::renewal_outcome>> said;
    store->renew({c}, said.slot());
    return said.get().value().at(0).what;
  }
  result<bool> convert(const spi::claim& c, spi::access to) {
    answer<bool> said;
    store->convert(c, to, spi::caller::may_block, said.slot());
    return said.get();
  }
  std::vector<entry> inspect(const std::string& prefix = {}) {
    answer<std::vector<entry>> said;
    store->inspect(prefix, said.slot());
    return said.get().value();
  }
  result<bool> evict(const std::string& name) {
    answer<bool> said;
    store->evict(name, said.slot());
    return said.get();
  }

  live_runtime engine;
  std::unique_ptr<spi::backend> store;
};

inline spi::claim claim_of(std::string name, spi::kind kind, spi::access access = spi::access::exclusive) {
  spi::claim c;
  c.name = std::move(name);
  c.kind = kind;
  c.access = access;
  c.id = spi::owner_id::random();
  c.ttl = 30s;
  return c;
}
inline spi::claim mutex_claim(std::string name = "a") { return claim_of(std::move(name), spi::kind::mutex); }
inline spi::claim writer(std::string name = "a") { return claim_of(std::move(name), spi::kind::shared_mutex); }
inline spi::claim reader(std::string name = "a") {
  return claim_of(std::move(name), spi::kind::shared_mutex, spi::access::shared);
}
inline spi::claim permits_claim(std::uint32_t permits, std::uint32_t limit, std::string name = "a") {
  auto c = claim_of(std::move(name), spi::kind::permits);
  c.permits = permits;
  c.limit = limit;
  return c;
}

inline bool looks_again(const answer<spi::wake>& woken) {
  return woken.comes_within(live_timeout) && std::holds_alternative<spi::look_again>(woken.get().value());
}

/// A directory of its own for every test, with two clients.
class file_store : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return directory_.path() / "locks"; }
  std::string url() const { return "file://" + path().string(); }

 private:
  holdfast::testing::temporary_directory directory_;

 protected:
  member one{url()};
  member two{url()};
};

}  // namespace holdfast::file_tests
