#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace holdfast::fuzz {

/// A promise that no input may break; libFuzzer keeps the input that does.
inline void check(bool holds, std::string_view promise) {
  if (holds) return;
  std::fprintf(stderr, "broken: %.*s\n", static_cast<int>(promise.size()), promise.data());
  std::abort();
}

inline std::string_view text_of(const unsigned char* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace holdfast::fuzz
