#pragma once

#include <holdfast/export.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/options.hpp>
#include <holdfast/stats.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

namespace detail {
class engine;
struct subscription_state;
}  // namespace detail

/// A watch in progress. Cancelling waits for a callback that is running, unless called from it.
class HOLDFAST_EXPORT subscription {
 public:
  explicit subscription(std::shared_ptr<detail::subscription_state> state) noexcept;
  void cancel();  ///< No callback starts after this. Idempotent. Not called: the watch lasts as long as the client.

 private:
  std::shared_ptr<detail::subscription_state> state_;
};

/// A connection to one store, from which locks are made.
///
/// Cheap to copy: copies share the connection, its threads and its queues. Locks and leases keep it alive.
///
/// Thread safety: safe.
/// Lifetime: leases alive when the last client and lock object go stay held and renewed until they are released. The
///         log, events and watches end then: none is called after the destructor of that last object, which waits for
///         one that is running, unless it is called from it. Operations under way still end in their `then`.
/// fork(): a child must not use clients, locks or leases made before: their calls fail (errc::unsupported, not_owner)
///         and their destructors touch nothing. Connect again in the child (etcd and ZooKeeper do not allow it).
class HOLDFAST_EXPORT client {
 public:
  explicit client(std::shared_ptr<detail::engine> engine);

  /// Locks whose names start with `prefix` and that are held or waited for now. Throws holdfast::error.
  std::vector<entry> inspect(std::string_view prefix = {}) const;
  /// Takes the lock from whoever holds it and lets the next one in. True if anybody held it. The holder's lease is lost
  /// (loss::taken), but it may still be at work: only its fencing token stops it. Throws holdfast::error.
  bool evict(std::string_view name);
  /// Calls back for who begins and ceases to hold or wait, on names starting with `prefix`, starting with those there
  /// now. Told from one look at the store to the next: what came and went in between, and what was handed over inside
  /// one process, is not seen. Runs on: a callback thread of this client.
  subscription watch(std::string_view prefix, std::function<void(const change&)> callback);
  /// Calls back for what happens to this client's own leases. Runs on: a callback thread of this client.
  void on_event(std::function<void(const event&)> callback);
  client_stats stats() const;
  /// What this store guarantees as it is set up, and which of its settings endanger locks. Empty where the store itself
  /// is not asked. Throws holdfast::error.
  std::vector<finding> examine() const;
  /// The store's URL without its password.
  const std::string& url() const noexcept;

  const std::shared_ptr<detail::engine>& engine() const noexcept { return engine_; }

 private:
  std::shared_ptr<detail::engine> engine_;
  std::shared_ptr<const void> user_;  // the last copy to go ends the callbacks
};

/// Connects to the store named by `url` (docs/stores.md). Throws holdfast::error: invalid_argument, unsupported,
/// unavailable, rejected.
HOLDFAST_EXPORT client connect(std::string_view url, client_options options = {});
/// Connects to `$HOLDFAST_STORE`, or else to this user's own embedded store.
HOLDFAST_EXPORT client connect(client_options options = {});
/// The URL the one-argument connect() uses.
HOLDFAST_EXPORT std::string default_url();

}  // namespace holdfast
