#pragma once

#include <holdfast/sql.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace holdfast::testing {

/// A private server, and connections to it as a user of its driver has them.
class database {
 public:
  /// With a connection of the driver of its own, which goes with it.
  using owned = std::unique_ptr<sql::connection>;

  virtual ~database() = default;
  virtual owned connect() const = 0;
  virtual std::string url() const = 0;
  virtual bool postgresql() const = 0;
  /// The number by which `one` is known to the server.
  virtual std::string number_of(sql::connection& one) const = 0;
  /// Does that connection wait for a row?
  virtual bool waits(const std::string& number) const = 0;
  virtual void end(const std::string& number) const = 0;  ///< As an administrator.
};

/// Which one, as a parameter: `postgresql`, `mariadb`, and `mysql`, which is MariaDB spoken to as MySQL is.
std::unique_ptr<database> start(const std::string& which);

/// Each test with a server of its own.
class on_database : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { db = start(GetParam()); }

  /// The place of parameter `i` in a statement.
  std::string place(int i) const { return db->postgresql() ? "$" + std::to_string(i) : "?"; }
  void make_tables() const;  ///< Those of Holdfast.
  /// A table `numbers(id, number, version, fence)` with one row, id 1.
  void make_numbers() const;
  static std::int64_t number(sql::connection& in);  ///< Of id 1.
  static std::string text(sql::connection& in, const std::string& question);

  std::unique_ptr<database> db;
};

/// The error that `action` throws.
template <class Action>
std::optional<holdfast::error> error_of(Action&& action) {
  try {
    std::forward<Action>(action)();
  } catch (const holdfast::error& why) {
    return why;
  }
  ADD_FAILURE() << "nothing was thrown";
  return std::nullopt;
}

}  // namespace holdfast::testing
