#pragma once

#include "bench.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::bench {

struct outcome {
  int code = 0;
  std::string out;
  std::string err;
};

/// `holdfast bench` with these words, in this process.
inline outcome run_bench(std::vector<std::string> words) {
  words.insert(words.begin(), "bench");
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int code = bench_main(static_cast<int>(words.size()), argv.data());
  return {code, ::testing::internal::GetCapturedStdout(), ::testing::internal::GetCapturedStderr()};
}

}  // namespace holdfast::bench
