#pragma once

#include "lifetime.hpp"
#include "link.hpp"
#include "record.hpp"
#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::memcached {

/// The item of a lock as it was seen.
struct sighting {
  record what;  ///< Its name only, where there is none.
  bool there = false;
  std::optional<failure> foreign;  ///< It is there, but none of ours, and not to be touched.
  std::uint64_t cas = 0;
  std::uint64_t era = 0;
  std::int64_t left = 0;    ///< Seconds until the server drops it.
  std::int64_t second = 0;  ///< The server's clock, where it was asked for.
  spi::time_point sent;     ///< Just before it was asked for.

  /// Names the token of whoever was brought by the write that is seen.
  std::uint64_t token_of(const holder& one) const { return one.token != 0 ? one.token : server_life::token(era, cas); }
};

/// The items of locks, each on the server of its name.
///
/// Thread safety: safe. Completions come with nothing locked.
class items {
 public:
  items(const settings& where, spi::runtime& engine);

  /// Blocks at most connect_timeout. Of several servers one must be there: the names of the others are unavailable.
  result<void> open();

  void ask(const std::string& name, command what, spi::time_point deadline, link::answer told);
  spi::time_point deadline() const { return engine_.now() + engine_.options().request_timeout; }

  enum class with : std::uint8_t { item_alone, clock };
  void look(const std::string& name, with what, spi::time_point deadline, spi::completion<sighting> done);

  /// How a write ended, and what was there right after it.
  struct written {
    bool stored = false;
    result<sighting> after;
    std::optional<failure> refused = std::nullopt;  ///< The server would not write it, whoever has it.
  };
  /// Writes the item of a lock where there is none, or in the version `over` of a life of the server. By the older
  /// commands: of an `ms` for which there is no memory the server drops what was there before, whosever it is.
  void put(const record& what, const sighting* over, spi::time_point deadline, spi::completion<written> done);

  enum class step : std::uint8_t { leave, write, erase };
  /// What to do about it. Called again if somebody else was quicker; `what` is what is written.
  using edit = std::function<result<step>(sighting& seen)>;
  struct revision {
    step done = step::leave;
    sighting last;          ///< As it was seen last, which may be after others have changed it, too.
    bool confirmed = true;  ///< It was; else written, but not seen since.
  };
  /// Reads, changes and writes back, as often as others come in between.
  void revise(const std::string& name, with what, spi::time_point deadline, edit change,
              spi::completion<revision> done);

 private:
  struct attempt;

  void ask_both(const std::string& name, command one, command two, spi::time_point deadline,
                detail::unique_function<void(result<reply>, result<reply>)> told);
  void try_revise(const std::shared_ptr<attempt>& one);
  void write(const std::shared_ptr<attempt>& one, sighting seen);

  const std::vector<address> servers_;
  spi::runtime& engine_;
  std::vector<std::shared_ptr<link>> links_;
};

}  // namespace holdfast::memcached
