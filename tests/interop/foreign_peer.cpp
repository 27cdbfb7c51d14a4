#include "foreign_peer.hpp"

#include <stdexcept>

namespace holdfast::testing {

foreign_peer::foreign_peer(const std::vector<std::string>& command_line) : process_(command_line) {
  const std::string said = process_.reply();
  if (said != "ready") throw std::runtime_error("the foreign client did not start: " + said);
}

void foreign_peer::tell(const std::string& thread, std::string_view command) {
  process_.tell(thread + " " + std::string(command));
}

std::optional<std::string> foreign_peer::reply_within(const std::string& thread, std::chrono::nanoseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  auto& mine = replies_[thread];
  while (mine.empty()) {
    const auto line = process_.reply_within(deadline - std::chrono::steady_clock::now());
    if (!line) return std::nullopt;
    const auto space = line->find(' ');
    replies_[line->substr(0, space)].push_back(line->substr(space + 1));
  }
  std::string reply = std::move(mine.front());
  mine.pop_front();
  return reply;
}

}  // namespace holdfast::testing
