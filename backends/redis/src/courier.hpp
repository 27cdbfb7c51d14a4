#pragma once

#include "link.hpp"
#include "script.hpp"
#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis {

/// One script with what it is to work on, and who wants to know: the answer is a failure, or a reply that is no error.
struct errand {
  const script& what;
  std::vector<std::string> keys;  ///< The first decides who serves it.
  std::vector<std::string> arguments;
  link::answer told;
};

/// Carries commands and scripts to the server, and scripts again that it does not know.
///
/// Thread safety: safe. Answers come with nothing locked.
class courier {
 public:
  courier(const settings& where, spi::runtime& engine, link::on_introduced introduced = {});

  result<void> open();  ///< Blocks at most connect_timeout.

  /// The master is at `server` (host:port): whoever was it is asked no more.
  void leave_for(const std::string& server);

  void run(errand one, spi::caller from);
  /// All in one go: one send, where one server serves them.
  void run(std::vector<errand> all, spi::caller from);
  /// A single command about `key`. An error the server replies is told as a failure.
  void ask(std::string_view key, const std::vector<std::string_view>& words, spi::caller from, link::answer told);
  /// Several commands about `key`, one behind the other on one connection. Does not block.
  void ask_in_turn(std::string_view key, const std::vector<std::vector<std::string_view>>& commands,
                   std::vector<link::answer> answers);

 private:
  const std::shared_ptr<link> link_;
};

}  // namespace holdfast::redis
