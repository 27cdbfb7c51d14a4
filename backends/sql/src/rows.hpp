#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sql {

/// What a database answered: rows, all of them. What is NULL is empty.
class rows {
 public:
  rows() = default;
  explicit rows(int columns) : columns_(columns) {}

  void add(std::string_view value) { cells_.emplace_back(value); }

  int size() const noexcept { return columns_ == 0 ? 0 : static_cast<int>(cells_.size()) / columns_; }
  int columns() const noexcept { return columns_; }
  /// Empty where there is nothing: a server may answer with less than was asked for.
  const std::string& text(int row, int column) const noexcept {
    static const std::string nothing;
    return row < size() && column < columns_ ? cells_[static_cast<std::size_t>(row * columns_ + column)] : nothing;
  }
  std::int64_t integer(int row, int column) const noexcept { return number<std::int64_t>(text(row, column)); }
  std::uint64_t token(int row, int column) const noexcept { return number<std::uint64_t>(text(row, column)); }
  /// The first row, all numbers; what is missing is 0.
  std::vector<std::int64_t> record() const {
    std::vector<std::int64_t> all;
    for (int column = 0; column < columns_ && size() != 0; ++column) all.push_back(integer(0, column));
    return all;
  }

 private:
  template <class Number>
  static Number number(std::string_view digits) noexcept {
    Number value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  }

  int columns_ = 0;
  std::vector<std::string> cells_;
};

}  // namespace holdfast::sql
