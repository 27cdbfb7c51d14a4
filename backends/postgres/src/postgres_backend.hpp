#pragma once

#include "ears.hpp"
#include "lease_backend.hpp"
#include "link.hpp"
#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::postgres {

/// A PostgreSQL database with the tables of backends/sql.
///
/// Thread safety: safe.
class postgres_backend final : public sql::lease_backend {
 public:
  /// Blocks at most connect_timeout.
  static result<std::unique_ptr<spi::backend>> open(settings where, spi::runtime& engine);
  postgres_backend(settings where, spi::runtime& engine);
  result<void> prepare();

  std::string identity() const override { return identity_; }
  void examine(spi::completion<std::vector<finding>> done) override;

  /// A connection of its own beside, for statements about other ones.
  sql::asking& aside() { return link(0); }
  /// The connection that was made when it was opened, if nobody has used it yet: for the first session that holds.
  connection take_first() { return first_used_.exchange(true) ? connection() : std::move(first_); }
  sql::arguments renewal_arguments(const std::vector<const spi::claim*>& claims) const override;

 private:
  sql::asking& link(std::size_t index) override;
  sql::listening& ears() const override { return *ears_; }
  bool row_kept(const failure& why) const override;

  const settings where_;
  std::string identity_;
  std::array<std::shared_ptr<postgres::link>, lock_links + 1> links_;
  std::atomic<bool> first_used_{false};
  connection first_;  // made when it was opened, for the link that is used first
  const std::shared_ptr<postgres::ears> ears_;
};

}  // namespace holdfast::postgres
