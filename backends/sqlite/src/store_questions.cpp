#include "store.hpp"

#include <algorithm>

namespace holdfast::sqlite {

result<std::vector<spi::renewal_outcome>> store::renew(const std::vector<spi::claim>& held) {
  // A database that is not there any more knows none of them.
  if (auto there = transact_.check_file(); !there) {
    engine_.log(log_level::error, there.error().detail);
    return std::vector<spi::renewal_outcome>(held.size(), {spi::renewal::lost, {}});
  }
  auto outcomes = transact_.write([&] {
    std::vector<spi::renewal_outcome> all;
    all.reserve(held.size());
    const instant at = now();
    for (const spi::claim& c : held) all.push_back(locks_.renew(c, at));
    return all;
  });
  after_commit({});
  return outcomes;
}

result<bool> store::convert(const spi::claim& held, spi::access to) {
  outbox letters;
  auto changed = transact_.write([&] { return locks_.convert(held, to, now(), letters); });
  if (changed) after_commit(letters);
  return changed;
}

result<bool> store::raise(const spi::claim& held, fencing_token floor) {
  return transact_.write([&] { return locks_.raise(held, floor, now()); });
}

result<spi::count_reply> store::count(const spi::count_request& request) {
  if (request.what == spi::count_request::op::get) {
    auto row = transact_.read([&] { return table_.find(request.name); });
    if (!row) return row.error();
    if (!*row || !(*row)->in_use()) return spi::count_reply{};
    if ((*row)->kind == request.kind) return spi::count_reply{true, (*row)->value.value_or(0)};
  }
  outbox letters;
  auto reply = transact_.write([&] { return counts_.apply(request, now(), letters); });
  after_commit(letters);
  return reply;
}

result<spi::cell_value> store::load_cell(const std::string& name) {
  return transact_.read([&] { return registers_.load(name); });
}

result<bool> store::exchange_cell(const std::string& name, std::uint64_t expected, const std::string& value,
                                  const spi::owner_id& id) {
  auto changed = transact_.write([&] { return registers_.exchange(name, expected, value, id); });
  after_commit({});
  return changed;
}

result<fencing_token> store::admit(const std::string& name, fencing_token token) {
  if (token == fencing_token()) return transact_.read([&] { return registers_.newest(name); });
  auto newest = transact_.write([&] { return registers_.admit(name, token); });
  after_commit({});
  return newest;
}

result<bool> store::evict(const std::string& name) {
  outbox letters;
  auto evicted = transact_.write([&] { return locks_.evict(name, now(), letters); });
  if (evicted) after_commit(letters);
  return evicted;
}

std::function<void()> store::observe(std::function<void()> changed) { return observers_->add(std::move(changed)); }

}  // namespace holdfast::sqlite
