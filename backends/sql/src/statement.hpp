#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sql {

/// Something to ask of a database, with a place for each argument.
struct statement {
  std::string name;
  std::string text;
};

/// What stands in the places of a statement.
class arguments {
 public:
  struct value {
    std::string text;
    enum class form : std::uint8_t { number, text, bytes } is = form::number;
  };

  arguments& add(std::int64_t number) { return put(std::to_string(number), value::form::number); }
  arguments& add_unsigned(std::uint64_t number) { return put(std::to_string(number), value::form::number); }
  arguments& add_text(std::string text) { return put(std::move(text), value::form::text); }
  arguments& add_bytes(std::string bytes) { return put(std::move(bytes), value::form::bytes); }

  const std::vector<value>& all() const noexcept { return all_; }

 private:
  arguments& put(std::string text, value::form is) {
    all_.push_back({std::move(text), is});
    return *this;
  }

  std::vector<value> all_;
};

/// Everything that is asked of the tables.
struct statements {
  statement enter, enter_number, leave, leave_number, renew, convert, raise_token;
  statement count_step, load_cell, exchange_cell, admit_token, evict, inspect;
};

}  // namespace holdfast::sql
