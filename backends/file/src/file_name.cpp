#include "file_name.hpp"

#include <cstdint>

namespace holdfast::file {
namespace {

constexpr std::size_t longest = 200;
constexpr std::size_t kept_of_longer = 160;
constexpr char cut_mark = '~';
constexpr std::size_t hash_digits = 32;
constexpr char digits[] = "0123456789ABCDEF";

bool is_plain(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

__extension__ using uint128 = unsigned __int128;

/// FNV-1a. A clash is found out by the name inside the file and refused, so nothing better is needed.
std::string hash(std::string_view text) {
  constexpr uint128 prime = (uint128{1} << 88) + 0x13b;
  uint128 h = (uint128{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
  for (const char c : text) {
    h ^= static_cast<std::uint8_t>(c);
    h *= prime;
  }
  std::string hex(hash_digits, '0');
  for (auto digit = hex.rbegin(); digit != hex.rend(); ++digit, h >>= 4) *digit = digits[static_cast<unsigned>(h & 15)];
  return hex;
}

int value_of(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

std::string to_file_name(std::string_view lock_name) {
  std::string escaped;
  std::size_t kept = 0;  // the most that can be kept without cutting an escape in two
  for (const char c : lock_name) {
    if (is_plain(c) && !(c == '.' && escaped.empty())) {
      escaped += c;
    } else {
      escaped += {'%', digits[static_cast<std::uint8_t>(c) >> 4], digits[static_cast<std::uint8_t>(c) & 15]};
    }
    if (escaped.size() <= kept_of_longer) kept = escaped.size();
  }
  if (escaped.size() <= longest) return escaped;
  return escaped.substr(0, kept) + cut_mark + hash(lock_name);
}

std::optional<std::string> to_lock_name(std::string_view file_name) {
  if (file_name.empty() || file_name.size() > longest || file_name.front() == '.') return std::nullopt;
  std::string name;
  for (std::size_t i = 0; i != file_name.size(); ++i) {
    if (is_plain(file_name[i])) {
      name += file_name[i];
      continue;
    }
    if (file_name[i] != '%' || file_name.size() - i < 3) return std::nullopt;
    const int high = value_of(file_name[i + 1]), low = value_of(file_name[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    name += static_cast<char>(high * 16 + low);
    i += 2;
  }
  // Only what to_file_name makes: no lock has two files.
  if (to_file_name(name) != file_name) return std::nullopt;
  return name;
}

bool is_cut(std::string_view file_name) noexcept {
  const auto mark = file_name.find(cut_mark);
  return mark != std::string_view::npos && file_name.size() == mark + 1 + hash_digits;
}

}  // namespace holdfast::file
