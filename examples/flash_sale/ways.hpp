#pragma once

#include "shop.hpp"

#include <holdfast/holdfast.hpp>

#include <functional>
#include <string>
#include <vector>

namespace flash_sale {

/// Buys one unit; false: it is sold out. `attempts` counts every try.
using purchase = std::function<bool(holdfast::sql::connection& in, int buyer, std::uint64_t& attempts)>;

/// One way to sell an article to many at once.
struct way {
  std::string name;
  int parts = 1;  ///< The stock is divided into so many rows.
  purchase buy;
};

/// The four, each for the article of its position.
std::vector<way> ways(const holdfast::client& locks);

}  // namespace flash_sale
