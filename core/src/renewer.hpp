#pragma once

#include "guarded.hpp"
#include "scheduler.hpp"
#include "store_grant.hpp"

#include <holdfast/detail/executor.hpp>

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace holdfast::detail {

/// Keeps grants alive and notices when one ends.
///
/// Renewals are batched: when one is due, those due soon go with it. They are sent from an executor of their own, so
/// that neither user code nor a store that hangs keeps the timer from signalling a loss in time.
///
/// Thread safety: safe.
class renewer : public std::enable_shared_from_this<renewer> {
 public:
  /// What the renewer asks of its owner. `lost` runs on the scheduler's thread or that of a store's answer; `renew` is
  /// backend::renew, on the executor.
  struct hooks {
    std::function<void(const std::shared_ptr<store_grant>&, loss)> lost;
    std::function<void(const std::vector<spi::claim>&, spi::completion<std::vector<spi::renewal_outcome>>)> renew;
    std::function<void(std::size_t renewed, std::size_t unknown, std::chrono::nanoseconds took)> renewed;
  };

  renewer(std::shared_ptr<scheduler> time, std::shared_ptr<executor> sender, hooks h);

  void add(const std::shared_ptr<store_grant>& grant);
  void remove(const store_grant& grant);
  std::shared_ptr<store_grant> find(const spi::owner_id& id) const;
  /// The grant's validity was changed by somebody else (lease::renew): look again at the right time.
  void touch(const std::shared_ptr<store_grant>& grant);
  void stop();  ///< No timer fires afterwards.

 private:
  using batch = std::vector<std::shared_ptr<store_grant>>;
  struct table {
    std::map<spi::owner_id, std::shared_ptr<store_grant>> grants;
    std::set<std::pair<lease_clock::time_point, store_grant*>> by_time;
    scheduler::timer timer = 0;
    lease_clock::time_point timer_at = lease_clock::time_point::max();
    bool stopped = false;
  };

  void look();
  void send(batch due);
  void settle(const batch& sent, lease_clock::time_point since, result<std::vector<spi::renewal_outcome>> answer);
  void arm(table& t);
  void schedule(table& t, const std::shared_ptr<store_grant>& grant, lease_clock::time_point when);
  static lease_clock::time_point first_look(const store_grant& grant, lease_clock::time_point now);

  const std::shared_ptr<scheduler> time_;
  const std::shared_ptr<executor> sender_;
  const hooks hooks_;
  guarded<table> table_;
};

}  // namespace holdfast::detail
