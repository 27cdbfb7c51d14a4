// A flash sale: 64 buyers, one article, and never one unit too many. Four ways to do it on the database there is.
//
//     flash_sale [postgresql://... | mysql://...] [UNITS]      (default: $HOLDFAST_STORE, 640 units)
#include "ways.hpp"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <latch>
#include <mutex>
#include <thread>

namespace {

using namespace flash_sale;

constexpr int buyers = 64;

struct outcome {
  double seconds = 0;
  std::uint64_t attempts = 0;
  std::string problem;
};

/// Everybody buys until it is sold out.
outcome sell(const shop& at, const way& how) {
  outcome all;
  std::mutex guard;
  std::latch doors(buyers + 1);
  std::vector<std::jthread> crowd;
  for (int buyer = 0; buyer < buyers; ++buyer) {
    crowd.emplace_back([&, buyer] {
      std::uint64_t attempts = 0;
      std::string problem;
      bool arrived = false;
      try {
        const auto in = at.connect();
        arrived = true;
        doors.arrive_and_wait();
        while (how.buy(*in, buyer, attempts)) {
        }
      } catch (const std::exception& why) {
        problem = why.what();
        if (!arrived) doors.count_down();
      }
      const std::scoped_lock alone(guard);
      all.attempts += attempts;
      if (!problem.empty()) all.problem = problem;
    });
  }
  doors.arrive_and_wait();
  const auto begin = std::chrono::steady_clock::now();
  crowd.clear();  // waits for all of them
  all.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return all;
}

int run(const std::string& url, std::int64_t units) {
  const shop at(url);
  const auto locks = holdfast::connect(url);  // and makes the tables of Holdfast
  bool exact = true;
  std::cout << buyers << " buyers, " << units << " units each way\n"
            << std::left << std::setw(30) << "way" << std::right << std::setw(10) << "orders/s" << std::setw(10)
            << "seconds" << std::setw(12) << "attempts" << "   exact\n";
  int article = 0;
  for (const way& how : ways(locks)) {
    at.stock(article, how.parts, units);
    auto all = sell(at, how);
    if (all.problem.empty()) all.problem = at.audit(article, units);
    exact = exact && all.problem.empty();
    std::cout << std::left << std::setw(30) << how.name << std::right << std::fixed << std::setprecision(0)
              << std::setw(10) << static_cast<double>(units) / all.seconds << std::setprecision(2) << std::setw(10)
              << all.seconds << std::setw(12) << all.attempts << "   "
              << (all.problem.empty() ? "yes" : "NO: " + all.problem) << std::endl;
    ++article;
  }
  return exact ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  const char* const given = std::getenv("HOLDFAST_STORE");
  const std::string url = count > 1 ? words[1] : (given == nullptr ? "" : given);
  if (url.empty()) {
    std::cerr << "usage: flash_sale [postgresql://... | mysql://...] [UNITS]\n";
    return 64;
  }
  try {
    return run(url, count > 2 ? std::stoll(words[2]) : 640);
  } catch (const std::exception& why) {
    std::cerr << "flash_sale: " << why.what() << '\n';
    return 1;
  }
}
