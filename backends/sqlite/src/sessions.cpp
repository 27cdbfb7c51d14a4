#include "sessions.hpp"

#include <vector>

namespace holdfast::sqlite {

sessions::sessions(connection& db, peers& met, const sidecar& beside, const spi::identity& who)
    : met_(met),
      beside_(beside),
      who_(who),
      self_(sidecar::random_id()),
      insert_(db.handle(),
              "INSERT INTO session(id, pid, start, namespace, host, client) VALUES(?1, ?2, ?3, ?4, ?5, ?6)"),
      find_(db.handle(), "SELECT pid, start, namespace, host, client FROM session WHERE id = ?1"),
      delete_(db.handle(), "DELETE FROM session WHERE id = ?1"),
      unreferenced_(
          db.handle(),
          "SELECT id, pid, start, namespace FROM session WHERE id NOT IN (SELECT session FROM lock WHERE owner "
          "IS NOT NULL) AND id NOT IN (SELECT session FROM hold) AND id NOT IN (SELECT session FROM queue)") {}

void sessions::enrol() {
  if (state_ != state::absent) return;
  const process& me = met_.self();
  insert_.run(self_, me.pid, me.start, me.pid_namespace, std::string_view(who_.host),
              std::string_view(who_.client_name));
  state_ = state::written;
  // One in 256 clients (ids are odd) tidies up after those that could not.
  if (self_ % 512 == 1) sweep();
}

void sessions::committed() noexcept {
  if (state_ == state::written) state_ = state::there;
}

void sessions::rolled_back() noexcept {
  if (state_ == state::written) state_ = state::absent;
}

void sessions::leave() {
  if (state_ == state::there) delete_.run(self_);
  state_ = state::absent;
}

sessions::found sessions::look(session_id id, std::shared_ptr<peer>& who) {
  if (id == self_) return found::alive;
  who = met_.known(id);
  if (who && !who->dead()) return found::alive;
  if (!who) {
    rows row = find_(id);
    if (!row.next()) return found::unknown;
    const process of{static_cast<pid_t>(row.integer(0)), static_cast<std::uint64_t>(row.integer(1)),
                     static_cast<std::uint64_t>(row.integer(2))};
    who = met_.meet(id, of);
    if (who) return found::alive;
  }
  who.reset();
  met_.forget(id);
  beside_.remove(id);
  return found::dead;
}

bool sessions::dead(session_id id) {
  std::shared_ptr<peer> who;
  return look(id, who) == found::dead;
}

std::shared_ptr<peer> sessions::neighbour(session_id id) {
  // One that is known need not be asked how it is: its death will be told.
  std::shared_ptr<peer> who = met_.known(id);
  if (!who) look(id, who);
  return who && who->watchable() ? who : nullptr;
}

sessions::client sessions::describe(session_id id) {
  rows row = find_(id);
  if (!row.next()) return {};
  return {std::string(row.text(3)), row.integer(0), std::string(row.text(4))};
}

void sessions::sweep() {
  std::vector<session_id> gone;
  {
    rows row = unreferenced_();
    while (row.next()) {
      const process of{static_cast<pid_t>(row.integer(1)), static_cast<std::uint64_t>(row.integer(2)),
                       static_cast<std::uint64_t>(row.integer(3))};
      const session_id id = row.integer(0);
      if (id != self_ && !peer::find(id, of, met_.self())) gone.push_back(id);
    }
  }
  for (const session_id id : gone) delete_.run(id);
  beside_.remove_dead();
}

}  // namespace holdfast::sqlite
