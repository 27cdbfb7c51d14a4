#pragma once

#include <holdfast/backend.hpp>
#include <holdfast/client.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

namespace holdfast::testing {

/// One kind of store as the conformance suite sees it. Made afresh for every test, so that tests run in parallel and in
/// any order; whatever it started is stopped by its destructor.
class store_fixture {
 public:
  virtual ~store_fixture() = default;

  /// The URL of this test's store number `index`. Different numbers: stores that know nothing of each other.
  virtual std::string url(std::size_t index = 0) const = 0;
  /// What this store must be able to do. The suite holds the backend to it, in both directions.
  virtual spi::capabilities supports() const = 0;
  /// Can another process reach it?
  virtual bool cross_process() const = 0;

  /// A holder killed on this machine frees its lock long before its ttl ends.
  virtual bool notices_death_at_once() const { return true; }
  /// A waiter killed on this machine is passed over at once. Not where its session keeps its place until that ends.
  virtual bool passes_over_dead_waiters() const { return true; }
  /// A holder that is stopped beyond its ttl makes room for the next. Not where the kernel keeps the lock for it.
  virtual bool expires_paused_holders() const { return true; }
  /// A child that was forked from a process with clients may connect.
  virtual bool usable_in_forked_child() const { return true; }
  /// How many threads its client library may bring beside ours, however much is under way.
  virtual int client_library_threads() const { return 0; }
  /// A name it takes, and tells from every other.
  virtual bool takes_name(std::string_view /*name*/) const { return true; }
  /// A waiting writer is ahead of readers that come later.
  virtual bool queues_writers() const { return true; }

  virtual client make_client(client_options options = {}, std::size_t index = 0) const;
  /// Makes whoever holds `name` lose it, at the store.
  virtual void lose(std::string_view name, std::size_t index = 0) const;

  /// Makes the store vanish under its clients; false where there is nothing that could.
  virtual bool take_away();

  /// The server behind the store, for stores that have one.
  virtual bool has_server() const { return false; }
  virtual void kill_server();
  virtual void start_server();
  virtual void pause_server();
  virtual void resume_server();
};

/// A kind of store as a test parameter.
struct store_parameter {
  std::string label;  ///< Letters, digits and `_`: part of the test's name.
  std::function<std::unique_ptr<store_fixture>()> make;
};
std::ostream& operator<<(std::ostream& out, const store_parameter& store);

store_parameter memory_store();
store_parameter sqlite_store();
store_parameter file_store();
store_parameter etcd_store();
store_parameter mysql_store();
store_parameter postgres_store();
store_parameter redis_store();
store_parameter redis_cluster_store();
store_parameter redlock_store();
store_parameter redis_tls_store();
store_parameter zookeeper_store();
store_parameter memcached_store();
store_parameter postgres_shedlock_store();  ///< With `?layout=shedlock`.
store_parameter mysql_shedlock_store();     ///< The same.
store_parameter redis_plain_store();        ///< The same with `?layout=plain`.

/// Has it no more than 64 characters?
bool fits_shedlock(std::string_view name);

/// `stem`, and something no other test has.
std::string unique_name(std::string_view stem);

}  // namespace holdfast::testing
