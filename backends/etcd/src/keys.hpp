#pragma once

#include <holdfast/backend.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::etcd {

/// A range of keys: from the first to before the second.
struct key_range {
  std::string first;
  std::string end;
};
/// All that begin with `prefix`; of an empty one, all there are.
key_range everything_below(const std::string& prefix);

/// `%x` of Go.
std::string hex(std::int64_t lease);

/// How things are called in etcd. Locks as Go's concurrency package and its recipes call them; what only we have,
/// below `holdfast`.
///
/// | key                               | what                                                              |
/// |-----------------------------------|-------------------------------------------------------------------|
/// | NAME/LEASE, NAME/LEASE-2          | mutex: who holds it and who waits, by create revision             |
/// | NAME/read/NUMBER                  | shared_mutex: a reader (a writer has one too, for its downgrade)  |
/// | NAME/write/NUMBER                 | shared_mutex: a writer                                            |
/// | holdfast:NAME|permit|ID           | permit_semaphore: permits that are held                           |
/// | holdfast:NAME|wait|ID             | permit_semaphore and counting_semaphore: who waits                |
/// | holdfast:NAME|semaphore, |latch   | the number                                                        |
/// | holdfast-token:NAME               | the greatest token given out, where that is ahead of revisions    |
/// | holdfast-cell:NAME, holdfast-fence:NAME |                                                             |
/// | holdfast-done:ID                  | an answer, in case the question is sent again                     |
///
/// | is a tab, which no name contains: what is below one name is below no other.
class keys {
 public:
  explicit keys(std::string before) : before_(std::move(before)) {}

  std::string line(const std::string& name) const { return before_ + name + "/"; }
  std::string mutex(const std::string& name, std::int64_t lease, unsigned which) const;
  std::string reader(const std::string& name, std::uint64_t number) const;
  std::string writer(const std::string& name, std::uint64_t number) const;
  std::string writers(const std::string& name) const { return line(name) + "write/"; }

  /// Of a name, what is no mutex and no read-write lock.
  std::string others(const std::string& name) const { return before_ + "holdfast:" + name + "\t"; }
  std::string permits(const std::string& name) const { return others(name) + "permit\t"; }
  std::string waits(const std::string& name) const { return others(name) + "wait\t"; }
  std::string number(const std::string& name, spi::kind k) const;

  std::string token(const std::string& name) const { return before_ + "holdfast-token:" + name; }
  std::string cell(const std::string& name) const { return before_ + "holdfast-cell:" + name; }
  std::string fence(const std::string& name) const { return before_ + "holdfast-fence:" + name; }
  std::string done(const spi::owner_id& id) const { return before_ + "holdfast-done:" + id.hex(); }

  /// What a key in the line of `name` is. `nested`: of a lock whose name is longer.
  enum class form : std::uint8_t { mutex, reader, writer, nested };
  form form_of(const std::string& name, std::string_view key) const;

  /// The lock a key with this lease belongs to. Nothing: it is none.
  struct place {
    std::string name;
    form what = form::mutex;
  };
  std::optional<place> place_of(std::string_view key, std::int64_t lease) const;
  /// The name in a key below others(), and what follows it.
  struct other_place {
    std::string name;
    std::string what;
  };
  std::optional<other_place> other_place_of(std::string_view key) const;

  /// The ranges where the locks are whose names begin so: those in lines, and the others.
  key_range lines_below(const std::string& prefix) const { return everything_below(before_ + prefix); }
  key_range others_below(const std::string& prefix) const { return everything_below(before_ + "holdfast:" + prefix); }

 private:
  const std::string before_;
};

/// What the keys below others() say the name is used as.
std::optional<spi::kind> kind_of_other(std::string_view what, std::string_view value);

}  // namespace holdfast::etcd
