#pragma once

#include "message.hpp"
#include "sidecar.hpp"

#include <utility>
#include <vector>

namespace holdfast::sqlite {

/// What is to be told once a transaction is committed, and not before.
struct outbox {
  std::vector<std::pair<mailbox_id, message>> letters;

  void add(mailbox_id to, const message& m) {
    if (to != 0) letters.emplace_back(to, m);
  }
};

}  // namespace holdfast::sqlite
