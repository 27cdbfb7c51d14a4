#include "support/rig.hpp"

#include "claims.hpp"
#include "face.hpp"
#include "terms.hpp"

namespace holdfast::testing {

rig::rig(client_options o, std::string identity, std::shared_ptr<fake_scheduler> clock)
    : time(clock ? std::move(clock) : std::make_shared<fake_scheduler>()),
      store(std::make_shared<scripted_store>(std::move(identity))) {
  detail::engine_parts parts;
  parts.outlet = std::make_shared<detail::outlet>(o.log);
  parts.time = time;
  parts.callbacks = callbacks;
  parts.losses = losses;
  parts.workers = workers;
  parts.renewals = std::make_shared<inline_executor>();
  engine = detail::engine::make(std::move(parts), std::move(o), "scripted:",
                                [this](spi::runtime& runtime) -> result<std::unique_ptr<spi::backend>> {
                                  return scripted_store::backend(store, runtime);
                                })
               .value();
  user.emplace(engine);
}

rig::~rig() {
  // Open calls and timers keep acquisitions, and those the engine, alive.
  // Those parked in the engine's gates keep it alive.
  for (const auto& waiting : under_way)
    if (auto a = waiting.lock()) a->cancel();
  store->hang_up();
  workers->run();
  losses->run();
  callbacks->run();
  time->shut_down();
}

std::shared_ptr<asked> rig::ask(const std::string& name, acquire_options options, std::stop_token stop,
                                ordering order) {
  return ask(detail::mutex_claim(name, {.order = order}), options, std::move(stop));
}

std::shared_ptr<asked> rig::ask(spi::claim claim, acquire_options options, std::stop_token stop) {
  auto a = std::make_shared<asked>();
  a->under_way = detail::begin(*engine, std::move(claim), options, std::move(stop), spi::caller::must_not_block,
                               [weak = std::weak_ptr(a)](result<std::shared_ptr<detail::hold>> outcome) {
                                 const auto here = weak.lock();
                                 if (!here) return;
                                 ++here->answers;
                                 if (outcome)
                                   here->held = *outcome;
                                 else
                                   here->why = outcome.error();
                               });
  under_way.push_back(a->under_way);
  return a;
}

lease_clock::time_point rig::end_of(std::chrono::nanoseconds ttl) const {
  return time->now() + ttl - detail::drift_margin(ttl);
}

}  // namespace holdfast::testing
