#pragma once

#include "rows.hpp"
#include "statement.hpp"

#include <holdfast/backend.hpp>

#include <cstdint>

namespace holdfast::sql {

/// A connection for statements: those of all threads, each a transaction of its own.
///
/// Thread safety: safe. Answers come with nothing locked.
class asking {
 public:
  using answer = detail::unique_function<void(result<rows>)>;

  virtual ~asking() = default;
  /// `what` must outlive this.
  virtual void ask(const statement& what, arguments with, spi::caller from, answer told) = 0;
};

/// A connection on which a client is told things, as a number.
///
/// Thread safety: safe. Everything is called with nothing locked, by the one who reads.
class listening {
 public:
  using ready = detail::unique_function<void(result<void>)>;

  virtual ~listening() = default;
  virtual std::int64_t number() const = 0;  ///< 0: it does not listen.
  /// `done` once it listens, at once if it does. errc::unavailable: not within request_timeout; it is still tried.
  virtual void listen(ready done) = 0;
  virtual bool lend(spi::loan& mine) = 0;          ///< As spi::backend.
  virtual void end(spi::loan& mine) noexcept = 0;  ///< As spi::backend.
};

}  // namespace holdfast::sql
