#pragma once

#include "redlock_node.hpp"

#include <holdfast/backend.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace holdfast::redis {

/// How many answers a question to all servers waits for. A majority of them must be there in the end.
enum class poll_until : std::uint8_t {
  majority,   ///< The first of them will do.
  everybody,  ///< All that are not known to be silent.
};

/// Asks every server the same by `ask(node, answer)`: the answers there are, or the failure of those that gave none.
template <class T>
void poll_nodes(const std::vector<std::unique_ptr<redlock_node>>& nodes, poll_until until,
                const std::function<void(redlock_node&, spi::completion<T>)>& ask,
                spi::completion<std::vector<T>> done) {
  struct tally {
    std::mutex mutex;
    std::vector<T> said;
    std::size_t left = 0;
    failure why{errc::unavailable, ""};
    spi::completion<std::vector<T>> done;
  };
  const std::size_t need = nodes.size() / 2 + 1;
  std::vector<redlock_node*> asked;
  for (const auto& node : nodes)
    if (until == poll_until::majority || !node->silent()) asked.push_back(node.get());
  if (asked.size() < need) {
    asked.clear();
    for (const auto& node : nodes) asked.push_back(node.get());
  }
  const std::size_t enough = until == poll_until::majority ? need : asked.size();
  auto all = std::make_shared<tally>();
  all->left = asked.size();
  all->done = std::move(done);
  for (redlock_node* const node : asked) {
    node->asked();
    ask(*node, [all, need, enough, node](result<T> said) {
      node->answered(said ? std::error_code() : said.error().code);
      std::unique_lock lock(all->mutex);
      --all->left;
      if (said)
        all->said.push_back(std::move(*said));
      else
        all->why = said.error();
      if (!all->done || (all->said.size() < enough && all->left > 0)) return;
      auto tell = std::move(all->done);
      all->done = {};
      auto answers = std::move(all->said);
      const auto why = all->why;
      lock.unlock();
      if (answers.size() < need) return tell(why);
      tell(std::move(answers));
    });
  }
}

}  // namespace holdfast::redis
