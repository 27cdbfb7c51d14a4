#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::sql {

/// What a column, parameter or variable holds.
enum class type : std::uint8_t {
  number,  ///< A signed 64-bit integer.
  token,   ///< An unsigned 64-bit integer.
  name,    ///< Up to 512 bytes, compared byte by byte: case and collation never matter.
  id,      ///< 16 bytes.
  bytes,   ///< Any bytes.
  text,    ///< Up to 1000 characters.
  job,     ///< Up to 64 characters: a name in ShedLock's table.
  moment,  ///< A time of UTC without a zone, to the millisecond at least.
  locker,  ///< Up to 255 characters.
};

/// How one database spells what the others spell differently. The tables and routines are written once, with these
/// words in braces:
///
///     {t locks}               the table of that name
///     {now}                   the time at this very moment, in microseconds; not that of the transaction's start
///     {set} x = 1;            assigns to a variable
///     {loop CONDITION} ... {end loop};
///     {changed x};            how many rows the statement before has changed; one that stays as it was may not count
///     {insert new} INTO t(...) VALUES(...) {or leave KEY};   unless there is one with that key already
///     {returning A INTO x}    of an UPDATE, where that exists ...
///     {reread STATEMENT}      ... and what does it where it does not
///     {queue up x};           waits its turn for the row of the name x, where rows are not given out in turn
///     {queue up x unless C};  the same, but goes ahead if C is true
///     {first x}               is it its turn at once?
///     {hex x}                 the digits of an id
///     {listens x}             is there a connection of a client that is to be told things as number x?
///     {tell x, TEXT};         tells it, when the transaction has ended well
///     {end}                   returns
///     {from}, {until}         the names that are asked for, of the inspection
///     {forget T};             deletes rows whose time `ends` is over: not all at once, for the row of the name is
///     locked {use F}                 the fragment F {storage T}, {index T}  what stands behind the columns of table T,
///     and behind its keys
///
/// and, of ShedLock's table, {t shedlock}:
///
///     {key x}                 the name x, which is bytes, as its key
///     {bytes x}               a text of it as bytes
///     {micros x}              a time of it in microseconds
///     {time x}                and back
///     {host x}                the host of a holder
///     {tab}                   a text that is a tab
///     {at least}              for how long the client that asks keeps a lock at least
class dialect {
 public:
  virtual ~dialect() = default;

  virtual std::string spell(type t) const = 0;
  virtual std::string table(std::string_view name) const = 0;  ///< `shedlock` is ShedLock's.
  /// What stands for {word rest}. Empty words are no words: std::logic_error for one it does not know.
  virtual std::string replace(std::string_view word, std::string_view rest) const = 0;
};

/// `text` with every word in braces replaced.
std::string render(std::string_view text, const dialect& in);

}  // namespace holdfast::sql
