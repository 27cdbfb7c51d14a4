#pragma once

#include "acquisition.hpp"
#include "counters.hpp"
#include "gates.hpp"
#include "guarded.hpp"
#include "outlet.hpp"
#include "renewer.hpp"
#include "scheduler.hpp"
#include "strand.hpp"

#include <holdfast/backend.hpp>
#include <holdfast/client.hpp>
#include <holdfast/detail/executor.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::detail {

class grant_hold;
class reactor;

/// What an engine runs on; tests bring their own.
struct engine_parts {
  std::shared_ptr<detail::outlet> outlet;  ///< The log, and what else is told unasked.
  std::shared_ptr<scheduler> time;
  std::shared_ptr<executor> callbacks;   ///< User code: continuations, events.
  std::shared_ptr<executor> losses;      ///< Loss signals, alone: nobody's callback delays them.
  std::shared_ptr<executor> workers;     ///< Store calls that block.
  std::shared_ptr<executor> renewals;    ///< Renewals, alone.
  std::shared_ptr<reactor> descriptors;  ///< Null where no backend watches descriptors.
};

/// Everything written once for all stores. One per connect(); clients, locks, leases and waits under way share it.
///
/// Thread safety: safe. No lock is held across a call to the store or to user code; the renewer takes the scheduler's
/// under its own, and nothing else nests.
class engine final : public spi::runtime, public std::enable_shared_from_this<engine> {
 public:
  using backend_maker = std::function<result<std::unique_ptr<spi::backend>>(spi::runtime&)>;

  /// In a forked child, and on its own threads, the engine must not be destroyed as usual: the returned pointer knows.
  static result<std::shared_ptr<engine>> make(engine_parts parts, client_options options, std::string url,
                                              const backend_maker& make_backend);
  ~engine() override;

  // spi::runtime
  lease_clock::time_point now() const noexcept override { return parts_.time->now(); }
  const spi::identity& who() const noexcept override { return who_; }
  const client_options& options() const noexcept override { return options_; }
  void log(log_level level, std::string_view line) noexcept override;
  void post(unique_function<void()> task) override { parts_.workers->post(std::move(task)); }
  timer at(lease_clock::time_point when, unique_function<void()> task) override {
    return parts_.time->at(when, std::move(task));
  }
  void cancel(timer t) noexcept override { parts_.time->cancel(t); }
  void on_readable(int fd, std::function<void()> ready) override;
  void forget(int fd) noexcept override;
  void lost(const spi::owner_id& id, loss cause) noexcept override;
  void asked_for(const spi::owner_id& id) noexcept override;

  // For the faces.
  const std::string& url() const noexcept { return url_; }
  const spi::capabilities& supports() const noexcept { return supports_; }
  std::string identity() const { return store_->identity(); }
  spi::backend& store() noexcept { return *store_; }
  const std::shared_ptr<executor>& callbacks() const noexcept { return parts_.callbacks; }
  const std::shared_ptr<detail::outlet>& outlet() const noexcept { return parts_.outlet; }
  /// False in a forked child: nothing here may be used.
  bool in_own_process() const noexcept;
  std::shared_ptr<acquisition> acquire(spi::claim claim, acquire_terms terms, spi::caller from,
                                       acquisition::completion done);
  void on_event(std::function<void(const event&)> callback);
  /// Keeps a subscription for as long as the engine lives, or until it is cancelled.
  void keep(std::shared_ptr<subscription_state> s);
  client_stats stats() const { return counters_.snapshot(); }

  // For acquisitions and holds.
  scheduler& time() noexcept { return *parts_.time; }
  gates& gate() noexcept { return gates_; }
  detail::counters& counters() noexcept { return counters_; }
  /// Makes the store's grant a hold, kept alive from here on. Null for semaphores and latches.
  std::shared_ptr<hold> admit(const spi::claim& claim, const spi::granted& grant, store_grant::life life);
  /// Ends a grant that its holder marked released: passes it on here, or gives it back to the store.
  void release(const std::shared_ptr<store_grant>& grant, fencing_token token, lease_clock::time_point since,
               spi::caller from, unique_function<void(result<void>)> done);
  result<void> renew(const std::shared_ptr<store_grant>& grant);
  result<bool> convert(const std::shared_ptr<store_grant>& grant, spi::access to);
  void raise(const std::shared_ptr<store_grant>& grant, fencing_token floor, spi::completion<bool> done);
  /// The grant is over: its hold, if one holds it still, is lost.
  void end_grant(const std::shared_ptr<store_grant>& grant, loss cause) noexcept;
  void settle_loss(const std::shared_ptr<grant_hold>& holder, loss cause) noexcept;
  /// An id is about to be asked for: if the store takes its grant away before it is admitted, admit() knows.
  void expect(const spi::owner_id& id);
  void forget_expected(const spi::owner_id& id);
  /// The store does not answer: those parked behind the one that found out need not find out by themselves.
  void fail_parked(const std::string& name, const failure& why);
  /// The one inside the gate of `name` is gone: the next one goes in.
  void depart(const std::string& name, spi::caller from);
  void note_acquired(const hold& h);

 private:
  engine(engine_parts parts, client_options options, std::string url);
  bool pass_on(const std::shared_ptr<store_grant>& grant, lease_clock::time_point since);
  void leave_later(const std::shared_ptr<store_grant>& grant, unsigned tries);
  void emit(event e);

  const engine_parts parts_;
  const client_options options_;
  const std::string url_;
  const spi::identity who_;
  const std::uint64_t generation_;
  const std::shared_ptr<strand> events_;

  gates gates_;
  detail::counters counters_;
  guarded<std::vector<std::shared_ptr<std::function<void(const event&)>>>> listeners_;
  std::atomic<bool> listened_{false};
  guarded<std::vector<std::shared_ptr<subscription_state>>> subscriptions_;
  guarded<std::map<spi::owner_id, loss>> expected_;
  std::unique_ptr<spi::backend> store_;
  spi::capabilities supports_;
  std::shared_ptr<renewer> renewer_;
};

/// An engine on threads of its own for the store at `url`.
result<std::shared_ptr<engine>> open_engine(std::string_view url, client_options options);

}  // namespace holdfast::detail
