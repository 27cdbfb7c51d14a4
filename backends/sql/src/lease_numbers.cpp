#include "lease_backend.hpp"
#include "refusals.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <tuple>

namespace holdfast::sql {

namespace {

constexpr std::size_t renewed_at_once = 200;  // claims per statement: their rows are locked until it ends
constexpr std::size_t parts = 8;              // into so many a statement is cut that could not have one of its rows

/// What is to be renewed, and the outcomes, told when the last has come.
struct renewals {
  std::vector<spi::claim> held;
  std::vector<spi::renewal_outcome> outcomes;
  std::atomic<std::size_t> left{0};
  spi::completion<std::vector<spi::renewal_outcome>> done;

  void settle(const std::vector<std::size_t>& which, spi::time_point sent, std::string_view digits) {
    for (std::size_t i = 0; i < which.size() && i < digits.size(); ++i) {
      auto& outcome = outcomes[which[i]];
      outcome.what = digits[i] == '1' ? spi::renewal::renewed : spi::renewal::lost;
      outcome.expires = sent + std::chrono::duration_cast<std::chrono::microseconds>(held[which[i]].ttl);
    }
    if (left.fetch_sub(which.size()) == which.size()) done(std::move(outcomes));
  }
};

std::vector<std::vector<std::size_t>> pieces(const std::vector<std::size_t>& all, std::size_t size) {
  std::vector<std::vector<std::size_t>> cut;
  for (std::size_t first = 0; first < all.size(); first += size) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(first);
    cut.emplace_back(from, from + static_cast<std::ptrdiff_t>(std::min(size, all.size() - first)));
  }
  return cut;
}

void tell_done(const result<rows>& said, spi::completion<bool>& done) {
  if (!said) return done(said.error());
  const auto outcome = said->integer(0, 0);
  if (outcome < 0) return done(not_ours());
  done(outcome == 1);
}

}  // namespace

struct lease_backend::renewal : renewals {};

void lease_backend::renew(const std::vector<spi::claim>& held,
                          spi::completion<std::vector<spi::renewal_outcome>> done) {
  if (held.empty()) return done(std::vector<spi::renewal_outcome>());
  auto all = std::make_shared<renewal>();
  all->held = held;
  all->outcomes.resize(held.size());
  all->left = held.size();
  all->done = std::move(done);
  // In the order of their rows: two statements that lock several never wait for each other in a circle.
  std::vector<std::size_t> order(held.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) {
    return std::tie(held[a].name, held[a].id.bytes) < std::tie(held[b].name, held[b].id.bytes);
  });
  const auto from = held.size() <= renewed_at_once ? spi::caller::may_block : spi::caller::must_not_block;
  for (auto& which : pieces(order, renewed_at_once)) renew_some(all, std::move(which), from);
}

void lease_backend::renew_some(const std::shared_ptr<renewal>& all, std::vector<std::size_t> which, spi::caller from) {
  std::vector<const spi::claim*> claims;
  for (const std::size_t i : which) claims.push_back(&all->held[i]);
  auto with = renewal_arguments(claims);
  const auto sent = engine_.now();
  any_link().ask(say_.renew, std::move(with), from, [this, all, which, sent](const result<rows>& said) {
    if (said) return all->settle(which, sent, said->text(0, 0));
    if (which.size() == 1 || !row_kept(said.error())) return all->settle(which, sent, std::string_view());
    // One row that somebody keeps locked is not to cost the others their time.
    for (auto& some : pieces(which, (which.size() + parts - 1) / parts))
      renew_some(all, std::move(some), spi::caller::must_not_block);
  });
}

void lease_backend::convert(const spi::claim& held, spi::access to, spi::caller from, spi::completion<bool> done) {
  convert_by(last_moment(engine_.now()), held, to, from, std::move(done));
}

void lease_backend::convert_by(std::int64_t last, const spi::claim& held, spi::access to, spi::caller from,
                               spi::completion<bool> done) {
  arguments with;
  with.add_bytes(held.name).add_bytes(bytes_of(held.id)).add(static_cast<std::int64_t>(to)).add(last);
  link_for(held.name).ask(say_.convert, std::move(with), from,
                          [this, held, to, done = std::move(done)](const result<rows>& said) mutable {
                            // It is not too late, as this was heard: the database's clock has jumped. Without it, then.
                            if (said && said->integer(0, 0) == -2)
                              return convert_by(0, held, to, spi::caller::must_not_block, std::move(done));
                            tell_done(said, done);
                          });
}

void lease_backend::raise(const spi::claim& held, fencing_token floor, spi::caller from, spi::completion<bool> done) {
  constexpr auto greatest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / 2);
  if (floor.value() > greatest)
    return done(
        failure{errc::invalid_argument, "token " + std::to_string(floor.value()) + " is too large for this store"});
  arguments with;
  with.add_bytes(held.name).add_bytes(bytes_of(held.id)).add(static_cast<std::int64_t>(floor.value()));
  link_for(held.name).ask(say_.raise_token, std::move(with), from,
                          [done = std::move(done)](const result<rows>& said) mutable { tell_done(said, done); });
}

void lease_backend::count(const spi::count_request& request, spi::caller from, spi::completion<spi::count_reply> done) {
  arguments with;
  with.add_bytes(request.name).add(static_cast<std::int64_t>(request.kind));
  with.add(static_cast<std::int64_t>(request.what)).add(request.amount).add_bytes(bytes_of(request.id)).add(memory());
  link_for(request.name)
      .ask(say_.count_step, std::move(with), from,
           [name = request.name, kind = request.kind, done = std::move(done)](const result<rows>& said) mutable {
             if (!said) return done(said.error());
             const auto answer = said->record();
             if (answer.size() != 2)
               return done(failure{errc::rejected, "'" + name + "': the server's answer makes no sense"});
             if (answer[0] == 2) return done(other_kind(name, kind, answer[1]));
             if (answer[0] == 4)
               return done(
                   failure{errc::invalid_argument, "'" + name + "': the number of permits would not fit in 64 bits"});
             done(spi::count_reply{answer[0] == 1, answer[1]});
           });
}

void lease_backend::load_cell(const std::string& name, spi::caller from, spi::completion<spi::cell_value> done) {
  arguments with;
  with.add_bytes(name);
  link_for(name).ask(say_.load_cell, std::move(with), from, [done = std::move(done)](const result<rows>& said) mutable {
    if (!said) return done(said.error());
    if (said->size() == 0) return done(spi::cell_value{});
    done(spi::cell_value{said->text(0, 0), said->token(0, 1)});
  });
}

void lease_backend::exchange_cell(const std::string& name, std::uint64_t expected, std::string value, spi::owner_id id,
                                  spi::caller from, spi::completion<bool> done) {
  if (expected > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return done(false);
  arguments with;
  with.add_bytes(name).add(static_cast<std::int64_t>(expected)).add_bytes(std::move(value)).add_bytes(bytes_of(id));
  with.add(memory());
  link_for(name).ask(say_.exchange_cell, std::move(with), from,
                     [done = std::move(done)](const result<rows>& said) mutable { tell_done(said, done); });
}

void lease_backend::admit(const std::string& name, fencing_token token, spi::caller from,
                          spi::completion<fencing_token> done) {
  arguments with;
  with.add_bytes(name).add_unsigned(token.value());
  link_for(name).ask(say_.admit_token, std::move(with), from,
                     [done = std::move(done)](const result<rows>& said) mutable {
                       if (!said) return done(said.error());
                       done(fencing_token(said->token(0, 0)));
                     });
}

void lease_backend::evict(const std::string& name, spi::completion<bool> done) {
  arguments with;
  with.add_bytes(name);
  link_for(name).ask(say_.evict, std::move(with), spi::caller::must_not_block,
                     [done = std::move(done)](const result<rows>& said) mutable { tell_done(said, done); });
}

}  // namespace holdfast::sql
