#pragma once

#include "courier.hpp"
#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace holdfast::redis {

/// The replicas that must have a grant before anybody is told of it (`?replicas=N`).
///
/// WAIT speaks for what its own connection wrote, and holds up everything behind it. So it has a connection to itself,
/// where it comes behind a write that came after the grant: a replica that has that one has the grant too.
///
/// Thread safety: safe.
class witnesses {
 public:
  using verdict = detail::unique_function<void(result<void>)>;

  /// Null where the URL asks for none.
  static std::shared_ptr<witnesses> wanted_by(const settings& where, spi::runtime& engine);
  witnesses(const settings& where, spi::runtime& engine);

  /// Success once enough replicas have whatever was written to `name` until now; errc::unavailable says how many did
  /// not: "only 1 of 2 replicas answered within 1 s". Within request_timeout of `since`.
  void ask(const std::string& name, spi::time_point since, verdict done);
  /// The master that sentinels name is `server` now: the replicas of another are no witnesses.
  void leave_for(const std::string& server) { courier_.leave_for(server); }

  using undo = detail::unique_function<void(spi::completion<bool>)>;
  /// `done`, told of success once enough replicas have it; otherwise it is undone first, if there is a way.
  static spi::completion<bool> before(const std::shared_ptr<witnesses>& all, const std::string& name, undo back,
                                      spi::completion<bool> done);
  /// The same of a grant of `store`.
  static spi::completion<spi::entry_result> before(const std::shared_ptr<witnesses>& all, spi::backend& store,
                                                   const spi::claim& wanted, spi::completion<spi::entry_result> done);

 private:
  spi::runtime& engine_;
  const unsigned count_;
  const std::chrono::nanoseconds timeout_;
  courier courier_;
};

}  // namespace holdfast::redis
