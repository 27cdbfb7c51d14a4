#include "ways.hpp"

#include <atomic>
#include <memory>

namespace flash_sale {

namespace sql = holdfast::sql;

namespace {

/// The lock of the article, in the buyer's own transaction.
purchase pessimistic(int article) {
  return [article](sql::connection& in, int buyer, std::uint64_t& attempts) {
    bool bought = false;
    // [pessimistic]
    attempts += sql::transact(in, [&](sql::connection& t) {
      sql::acquire_in_transaction(t, "flash/pessimistic");  // ends with the transaction
      const auto left = units_left(t, article, 0);
      bought = left > 0;
      if (!bought) return true;
      sql::run(t, spelled(t, "UPDATE flash_stock SET units = ? WHERE article = ?"), {left - 1, article});
      order(t, article, 0, buyer, left);
      return true;
    });
    // [pessimistic]
    return bought;
  };
}

/// Nobody waits: who finds that the version has moved on tries again.
purchase optimistic(int article) {
  return [article](sql::connection& in, int buyer, std::uint64_t& attempts) {
    bool bought = false;
    // [optimistic]
    const sql::versioned_table stock({.table = "flash_stock"});
    const sql::versioned_table::key which{{"article", article}, {"part", 0}};
    const auto buy = [&](sql::connection& t) {
      const auto seen = stock.load(t, which, {"units"});
      const auto left = std::stoll(seen->values.at(0).value());
      bought = left > 0;
      if (!bought) return true;
      if (!stock.compare_exchange(t, which, seen->version, {{"units", left - 1}})) return false;  // again
      order(t, article, 0, buyer, left);
      return true;
    };
    attempts += sql::transact(in, buy, {.attempts = 10'000});
    // [optimistic]
    return bought;
  };
}

/// Takes a unit of the stock that `lease` guards. The token is a condition: a holder that has lost its lock without
/// knowing it is turned away by the database, and before it reads what it is going to change.
bool take_unit(sql::connection& in, const holdfast::lease& lease, int article, int part, int buyer) {
  bool bought = false;
  // [fenced]
  const sql::fenced_table stock({.table = "flash_stock"});
  const sql::fenced_table::key which{{"article", article}, {"part", part}};
  const auto admit = [&](sql::connection& t, const std::vector<sql::field>& changes) {
    if (stock.write(t, which, lease.token(), changes) != sql::admission::admitted)
      throw std::runtime_error("the lock was lost, and somebody newer has written");
  };
  sql::transact(in, [&](sql::connection& t) {
    admit(t, {});  // first of all: from here on nobody older can write what is read next
    const auto left = units_left(t, article, part);
    bought = left > 0;
    if (!bought) return true;
    admit(t, {{"units", left - 1}});
    order(t, article, part, buyer, left);
    return true;
  });
  // [fenced]
  return bought;
}

purchase locked(const holdfast::client& locks, int article) {
  auto whole = std::make_shared<holdfast::mutex>(locks, "flash/locked");
  return [whole, article](sql::connection& in, int buyer, std::uint64_t& attempts) {
    ++attempts;
    const auto lease = whole->acquire();
    return take_unit(in, lease, article, 0, buyer);
  };
}

constexpr int stripes = 8;

/// Which stripe: they are called name#number.
int stripe_of(const holdfast::lease& lease) { return std::stoi(lease.name().substr(lease.name().rfind('#') + 1)); }

/// The stock in eight parts, each with a lock of its own: any part that is free will do, until it is sold out.
purchase striped(const holdfast::client& locks, int article) {
  auto divided = std::make_shared<holdfast::striped_mutex>(locks, "flash/striped", stripes);
  auto sold_out = std::make_shared<std::vector<std::atomic<bool>>>(stripes);
  return [divided, sold_out, article](sql::connection& in, int buyer, std::uint64_t& attempts) {
    const auto try_part = [&](const holdfast::lease& lease) {
      ++attempts;
      const int part = stripe_of(lease);
      if (take_unit(in, lease, article, part, buyer)) return true;
      sold_out->at(part) = true;
      return false;
    };
    // [striped]
    if (!sold_out->at(buyer % stripes) && try_part(divided->acquire_any())) return true;
    for (int i = 0; i < stripes; ++i) {  // what is left may be in a part that is not free now
      const int part = (buyer + i) % stripes;
      if (!sold_out->at(part) && try_part(divided->stripe(part).acquire())) return true;
    }
    // [striped]
    return false;
  };
}

}  // namespace

std::vector<way> ways(const holdfast::client& locks) {
  return {{"row lock in the transaction", 1, pessimistic(0)},
          {"version column, retries", 1, optimistic(1)},
          {"mutex, token as condition", 1, locked(locks, 2)},
          {"striped_mutex, 8 parts", stripes, striped(locks, 3)}};
}

}  // namespace flash_sale
