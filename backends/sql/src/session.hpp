#pragma once

#include "statement.hpp"
#include "ways.hpp"

#include <holdfast/backend.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sql {

/// A connection whose end is the end of all that it holds at the database. It is made once: what was asked of it is
/// never asked of another one, and after its end everything fails with errc::unavailable.
///
/// Thread safety: safe. Answers come with nothing locked, in the order of asking.
class session {
 public:
  using answer = asking::answer;
  /// How long an answer may take: request_timeout, after which the session is ended; or as long as it takes.
  enum class patience : std::uint8_t { usual, endless };

  virtual ~session() = default;
  /// Below 0. As what it is told things; and whoever finds it in the tables sees by it whether the session is there.
  virtual std::int64_t number() const noexcept = 0;
  virtual std::int64_t process() const noexcept = 0;  ///< By which others may cancel what it does.
  /// `what` must outlive this.
  virtual void ask(const statement& what, arguments with, spi::caller from, patience how, answer told) = 0;
  /// Frees what it holds. `ended` is not called for it.
  virtual void close() noexcept = 0;
};

/// What a session says unasked. Called with nothing locked.
struct session_events {
  std::function<void(std::string_view)> told;  ///< As listening: a letter of the tables' routines.
  std::function<void(const failure&)> ended;   ///< Once: it broke, or the server ended it.
};

/// Everything that is asked of sessions, and for them. Arguments that a statement begins with are those of
/// session_store::add_key.
struct session_statements {
  /// key, mode (0 tries, 1 waits, 2 looks, on another connection, whether a reader would be let in: only its record
  /// stays), time (milliseconds without a word after which the server ends the session; 0: never; -1: as before), then
  /// those of statements::enter. The answer is that of `enter`.
  statement hold;
  /// key, access (0: whatever it has; 3: only the record ends), name, owner: as `leave`.
  statement drop;
  /// key, name, owner, access: as statements::convert. An error leaves nobody knows what.
  statement convert;
  statement renew;  ///< As statements::renew; asked of the session that holds.
  statement rest;   ///< The server is not to end the session for being idle.
  // Asked of another connection:
  statement cancel;  ///< process: what it does now ends with an error.
  /// name, owner, kind, access, microseconds since, number, holder, process: somebody waits. 0: it does not yet.
  statement note_wait;
  statement end_wait;    ///< name, owner: and does not any more.
  statement processes;   ///< key: those that hold it, as one text with blanks between.
  statement still_hold;  ///< key, name, such a text: how many of them do, without being in the tables.
  statement terminate;   ///< key, such a text: ends their sessions if they hold it; how many did.
};

/// What a database brings to locks that are held by sessions.
///
/// Thread safety: safe.
class session_store {
 public:
  virtual ~session_store() = default;

  virtual spi::capabilities supports() const noexcept = 0;
  /// A session that can hold only one lock at a time needs a connection for each.
  virtual bool holds_many() const noexcept = 0;
  /// How many connections may hold or wait.
  virtual std::size_t most_sessions() const noexcept = 0;
  /// Which kinds are held by sessions; the others are left to the tables.
  virtual bool by_session(spi::kind what) const noexcept = 0;

  virtual const session_statements& say() const noexcept = 0;
  /// What the database knows a name by: two names with one key are one lock there.
  virtual std::string key_of(const std::string& name) const = 0;
  virtual void add_key(const std::string& name, arguments& to) const = 0;
  virtual arguments renewal_arguments(const std::vector<const spi::claim*>& claims) const = 0;

  /// Completes within connect_timeout. Starts where it may block.
  virtual void open(session_events tell, spi::completion<std::shared_ptr<session>> done) = 0;
  virtual spi::backend& tables() = 0;  ///< For everything that sessions do not hold.
  virtual asking& aside() = 0;         ///< For what is asked about sessions.
};

}  // namespace holdfast::sql
