#include "doctor.hpp"
#include "etcd_backend.hpp"

namespace holdfast::etcd {

using namespace std::chrono_literals;

namespace {

health::answer ask(office& of, std::size_t index, std::chrono::nanoseconds limit) {
  health::answer out;
  out.address = of.through.cluster().at(index).address;
  const auto said = of.through.ask_member(index, methods::status, {}, limit);
  if (!said) {
    out.failure = said.error().detail;
    return out;
  }
  out.version = said->version();
  out.id = said->header().member_id();
  out.leader = said->leader();
  out.size = said->dbsize();
  out.quota = said->dbsizequota();
  out.learner = said->islearner();
  if (of.through.plain()) {
    if (const auto date = clock_of(out.address))
      out.ahead = *date - std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  }
  return out;
}

/// A lease is a write that leaves nothing.
void time_a_write(office& of, std::size_t index, std::chrono::nanoseconds limit, health& out) {
  etcdserverpb::LeaseGrantRequest request;
  request.set_ttl(1);
  const auto sent = of.engine.now();
  const auto said = of.through.ask_member(index, methods::grant, request, limit);
  if (!said) return;
  out.write = of.engine.now() - sent;
  out.least_ttl = std::chrono::seconds(said->ttl());
  etcdserverpb::LeaseRevokeRequest back;
  back.set_id(said->id());
  static_cast<void>(of.through.ask_member(index, methods::revoke, back, limit));
}

}  // namespace

void etcd_backend::examine(spi::completion<std::vector<finding>> done) {
  office_.engine.post([this, done = std::move(done)]() mutable {
    health all;
    auto& through = office_.through;
    const auto limit = std::min<std::chrono::nanoseconds>(through.patience(), 2s);
    for (std::size_t i = 0; i < through.cluster().size(); ++i) all.asked.push_back(ask(office_, i, limit));
    const auto index = through.cluster().current();
    if (const auto list = through.ask_member(index, methods::member_list, {}, limit)) {
      for (const auto& one : list->members()) all.members += one.islearner() ? 0 : 1;
    }
    if (const auto alarms = through.ask_member(index, methods::alarm, {}, limit)) {
      for (const auto& one : alarms->alarms()) {
        all.full = all.full || one.alarm() == 1;
        all.corrupt = all.corrupt || one.alarm() == 2;
      }
    }
    time_a_write(office_, index, limit, all);
    done(judge(all));
  });
}

}  // namespace holdfast::etcd
