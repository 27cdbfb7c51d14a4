#include "combine.hpp"

#include "blocking.hpp"
#include "claims.hpp"
#include "terms.hpp"

#include <algorithm>

namespace holdfast::detail {

mutex_list in_common_order(mutex_list members, const char* what) {
  if (members.empty()) throw error({errc::invalid_argument, "no members"}, what, {});
  using key = std::pair<std::string, std::string>;
  const auto key_of = [](const mutex& m) { return key(m.store().engine()->identity(), m.name()); };
  std::sort(members.begin(), members.end(), [&](const mutex& a, const mutex& b) { return key_of(a) < key_of(b); });
  const auto twice = std::adjacent_find(members.begin(), members.end(),
                                        [&](const mutex& a, const mutex& b) { return key_of(a) == key_of(b); });
  if (twice != members.end())
    throw error({errc::deadlock, "the same lock twice: it would wait for itself"}, what, twice->get().name());
  return members;
}

std::vector<group_member> members_of(const mutex_list& members) {
  std::vector<group_member> all;
  for (const mutex& member : members)
    all.push_back({member.store().engine(), mutex_claim(member.name(), member.options())});
  return all;
}

std::string combined_name(const mutex_list& members) {
  std::string name;
  for (const mutex& member : members) name += (name.empty() ? "" : "+") + member.name();
  return name;
}

result<void> check_combined(const acquire_options& options, const std::stop_token& stop) {
  if (options.wait.has_value() && options.wait.value() < 0ns)
    return {errc::invalid_argument, "wait: negative; leave it out to wait for ever, 0s not to wait"};
  if (options.ttl.has_value())
    if (auto good = check_ttl(options.ttl.value()); !good) return good;
  if (stop.stop_requested()) return {errc::cancelled, "the stop_token was stopped before"};
  return {};
}

lease acquire_combined(begin_combined begin, const mutex_list& members, const acquire_options& options,
                       std::stop_token stop) {
  auto outcome =
      wait_for<std::shared_ptr<hold>>([&](auto done) { begin(members, options, std::move(stop), std::move(done)); });
  if (!outcome) throw error(std::move(outcome.error()), "acquire", combined_name(members));
  return lease(std::move(*outcome));
}

std::optional<lease> try_acquire_combined(begin_combined begin, const mutex_list& members, acquire_options options,
                                          std::stop_token stop) {
  if (!options.wait.has_value()) options.wait = 0ns;
  auto outcome =
      wait_for<std::shared_ptr<hold>>([&](auto done) { begin(members, options, std::move(stop), std::move(done)); });
  if (outcome) return lease(std::move(*outcome));
  if (outcome.error().code == errc::timed_out) return std::nullopt;
  throw error(std::move(outcome.error()), "try_acquire", combined_name(members));
}

operation<lease> async_acquire_combined(begin_combined begin, const mutex_list& members, const acquire_options& options,
                                        std::stop_token stop) {
  auto state = std::make_shared<operation_state<lease>>(members.front().get().store().engine()->callbacks(),
                                                        combined_name(members));
  auto cancel = begin(members, options, std::move(stop), [state](result<std::shared_ptr<hold>> outcome) {
    if (outcome)
      state->complete(lease(std::move(*outcome)));
    else
      state->complete(std::move(outcome.error()));
  });
  state->on_abandon(std::move(cancel));
  return operation<lease>(std::move(state));
}

}  // namespace holdfast::detail
