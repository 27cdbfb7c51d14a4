#pragma once

#include "redlock_node.hpp"

#include <holdfast/backend.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace holdfast::redis {

/// Asks every server the same and is done as soon as `enough` of them have answered, or all have: with the answers
/// there are, or with the failure of those that gave none.
///
/// `ask(node, answer)` asks one of them.
template <class T>
void poll_nodes(const std::vector<std::unique_ptr<redlock_node>>& nodes, std::size_t enough,
                const std::function<void(redlock_node&, spi::completion<T>)>& ask,
                spi::completion<std::vector<T>> done) {
  struct tally {
    std::mutex mutex;
    std::vector<T> said;
    std::size_t left = 0;
    failure why{errc::unavailable, ""};
    spi::completion<std::vector<T>> done;
  };
  auto all = std::make_shared<tally>();
  all->left = nodes.size();
  all->done = std::move(done);
  for (const auto& node : nodes) {
    node->asked();
    ask(*node, [all, enough, n = node.get()](result<T> said) {
      n->answered(said ? std::error_code() : said.error().code);
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
      if (answers.size() < enough) return tell(why);
      tell(std::move(answers));
    });
  }
}

}  // namespace holdfast::redis
