#include "keys.hpp"
#include "memcached_backend.hpp"

#include <algorithm>
#include <utility>

// Cells: an item whose version is the version. It says who wrote it last, so that a write sent again is not taken for
// another's.

namespace holdfast::memcached {

namespace {

constexpr std::string_view mark = "holdfast/1 cell";
constexpr std::size_t remembered = 64;     // writers
constexpr std::size_t id_digits = 16;      // half of an id, which is random
constexpr std::size_t most_doubts = 4096;  // those of writes that nobody repeats are forgotten some time

struct content {
  std::string name;
  std::string writers;  // the beginnings of hex ids, the newest first
  std::string value;

  std::string encoded() const { return std::string(mark) + "\n" + name + "\n" + writers + "\n" + value; }
};

std::optional<content> decoded(std::string_view text) {
  content out;
  const auto line = [&](std::string& into) {
    const auto end = text.find('\n');
    if (end == text.npos) return false;
    into = text.substr(0, end);
    text.remove_prefix(end + 1);
    return true;
  };
  std::string first;
  if (!line(first) || first != mark || !line(out.name) || !line(out.writers)) return std::nullopt;
  out.value = text;
  return out;
}

/// What is there; an empty one with version 0 if nothing is.
struct found_cell {
  content what;
  std::uint64_t version = 0;
};

result<found_cell> found_in(const reply& said, const std::string& name) {
  found_cell out;
  if (said.is("EN")) return out;
  if (said.kind != reply::what::value)
    return failure{errc::unavailable, "'" + name + "': the server's answer makes no sense"};
  auto known = decoded(said.body);
  if (!known) return failure{errc::rejected, "the key of '" + name + "' holds something that is no cell"};
  if (known->name != name)
    return failure{errc::rejected, "'" + name + "' and '" + known->name + "' have the same key; rename one of them"};
  out.what = std::move(*known);
  out.version = server_life::token(said.era, said.number('c'));
  return out;
}

bool has_writer(const std::string& writers, const std::string& id) {
  for (std::size_t at = 0; at + id_digits <= writers.size(); at += id_digits)
    if (writers.compare(at, id_digits, id) == 0) return true;
  return false;
}

}  // namespace

void memcached_backend::load_cell(const std::string& name, spi::caller, spi::completion<spi::cell_value> done) {
  items_.ask(name, {"mg " + key_of(cell_keys, name) + " v c"}, items_.deadline(),
             [name, done = std::move(done)](const result<reply>& said) mutable {
               if (!said) return done(said.error());
               auto found = found_in(*said, name);
               if (!found) return done(found.error());
               done(spi::cell_value{std::move(found->what.value), found->version});
             });
}

struct memcached_backend::exchange {
  std::string name;
  std::uint64_t expected;
  std::string value;
  std::string id;
  spi::time_point deadline;
  spi::completion<bool> done;
  bool doubted = false;  ///< It may have been written, by this or by an earlier call.
};

void memcached_backend::exchange_cell(const std::string& name, std::uint64_t expected, std::string value,
                                      spi::owner_id id, spi::caller, spi::completion<bool> done) {
  const auto one = std::make_shared<exchange>(
      exchange{name, expected, std::move(value), id.hex().substr(0, id_digits), items_.deadline(), std::move(done)});
  {
    const std::lock_guard lock(mutex_);
    one->doubted = doubts_.erase(one->id) != 0;
  }
  try_exchange(one);
}

/// Nobody knows whether it was written. If it is asked for again that is to be found out.
void memcached_backend::fail_exchange(exchange& one, const failure& why) {
  if (one.doubted && why.code == errc::unavailable) {
    const std::lock_guard lock(mutex_);
    if (doubts_.size() >= most_doubts) doubts_.erase(doubts_.begin());
    doubts_.insert(one.id);
  }
  one.done(why);
}

void memcached_backend::try_exchange(const std::shared_ptr<exchange>& one) {
  const std::string key = key_of(cell_keys, one->name);
  items_.ask(one->name, {"mg " + key + " v c"}, one->deadline, [this, one, key](const result<reply>& said) {
    if (!said) return fail_exchange(*one, said.error());
    const auto found = found_in(*said, one->name);
    if (!found) return fail_exchange(*one, found.error());
    // This very request, sent before: it was written, whoever wrote since.
    if (has_writer(found->what.writers, one->id)) return one->done(true);
    if (found->version != one->expected && one->doubted && found->what.writers.size() >= remembered * id_digits)
      return one->done(failure{errc::rejected, "'" + one->name +
                                                   "': it may have been written; its answer was lost, and too many "
                                                   "others have written since"});
    if (found->version != one->expected) return one->done(false);
    content next{one->name, (one->id + found->what.writers).substr(0, remembered * id_digits), one->value};
    std::string text = next.encoded();
    // Not `ms`: of one for which there is no memory the server drops what was there before.
    command put{(found->version == 0 ? "add " : "cas ") + key + " 0 0 " + std::to_string(text.size())};
    if (found->version != 0) put.line += " " + std::to_string(said->number('c'));
    put.mark = command::marking::none;
    put.data = std::move(text);
    put.era = said->era;
    items_.ask(one->name, std::move(put), one->deadline, [this, one](const result<reply>& written) {
      if (!written) {
        one->doubted = true;
        return fail_exchange(*one, written.error());
      }
      if (written->is("STORED")) return one->done(true);
      // Somebody was quicker; what he wrote has another version.
      try_exchange(one);
    });
  });
}

}  // namespace holdfast::memcached
