#pragma once

#include <string>
#include <vector>

namespace holdfast::cli {

/// Rows for people: columns padded to their widest cell, no trailing blanks.
class table {
 public:
  explicit table(std::vector<std::string> head) { add(std::move(head)); }

  void add(std::vector<std::string> row);  ///< Cells are made printable.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace holdfast::cli
