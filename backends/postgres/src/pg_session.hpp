#pragma once

#include "connection.hpp"
#include "link.hpp"
#include "session.hpp"
#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <memory>

namespace holdfast::postgres {

/// A session that holds advisory locks.
///
/// Thread safety: safe.
class pg_session final : public sql::session {
 public:
  /// Blocks at most connect_timeout. With a connection that was made already, unless that is gone.
  static result<std::shared_ptr<sql::session>> open(const settings& where, spi::runtime& engine, connection made,
                                                    sql::session_events tell);
  pg_session(std::shared_ptr<link> over, std::int64_t number, std::int64_t process)
      : over_(std::move(over)), number_(number), process_(process) {}
  ~pg_session() override { over_->close(); }

  std::int64_t number() const noexcept override { return number_; }
  std::int64_t process() const noexcept override { return process_; }
  void ask(const sql::statement& what, sql::arguments with, spi::caller from, patience how, answer told) override;
  void close() noexcept override { over_->close(); }

 private:
  const std::shared_ptr<link> over_;
  const std::int64_t number_;
  const std::int64_t process_;
};

}  // namespace holdfast::postgres
