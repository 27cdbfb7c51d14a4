#include "bench.hpp"

#include "subcommand.hpp"

#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

int bench(std::span<char* const> words, std::optional<std::string_view> store) {
  std::vector<char*> passed(words.begin(), words.end());
  // bench takes any number of --store of its own: one given before the subcommand is the first of them.
  std::string option = store ? "--store=" + std::string(*store) : std::string();
  if (store) passed.insert(passed.begin() + 1, option.data());
  const int count = static_cast<int>(passed.size());
  passed.push_back(nullptr);
  return holdfast::bench::bench_main(count, passed.data());
}

}  // namespace

constinit const subcommand bench_command{
    .grammar = {"bench", {}, {}},
    .summary = "measure stores beside what their raw clients can do",
    .help = {},
    .run = nullptr,
    .run_words = bench,
};

}  // namespace holdfast::cli
