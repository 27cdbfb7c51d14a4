#pragma once

#include "cluster.hpp"
#include "errand.hpp"
#include "link.hpp"
#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis {

/// Carries commands and scripts to the server, or to that of many which serves them, and scripts again that it does not
/// know.
///
/// Thread safety: safe. Answers come with nothing locked.
class courier {
 public:
  courier(const settings& where, spi::runtime& engine, link::on_introduced introduced = {});

  result<void> open();  ///< Blocks at most connect_timeout.

  /// The master is at `server` (host:port): whoever was it is asked no more.
  void leave_for(const std::string& server);

  void run(errand one, spi::caller from);
  /// All in one go: one send to each server.
  void run(std::vector<errand> all, spi::caller from);
  /// A single command about `key`. An error the server replies is told as a failure.
  void ask(std::string_view key, const std::vector<std::string_view>& words, spi::caller from, link::answer told);
  /// Several commands about `key`, one behind the other on one connection; of a single server only. Does not
  /// block.
  void ask_in_turn(std::string_view key, const std::vector<std::vector<std::string_view>>& commands,
                   std::vector<link::answer> answers);
  /// Whom to ask about all keys there are; one of a single server.
  std::vector<node_address> servers() const;
  void ask_at(const node_address& server, const std::vector<std::string_view>& words, link::answer told);

  /// Null: it is a single server.
  const std::shared_ptr<cluster>& nodes() const noexcept { return cluster_; }

 private:
  const std::shared_ptr<link> link_;
  const std::shared_ptr<cluster> cluster_;  // one of the two
};

}  // namespace holdfast::redis
