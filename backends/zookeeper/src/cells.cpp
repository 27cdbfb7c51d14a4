#include "cells.hpp"

#include "registers.hpp"
#include "zk_error.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <optional>

namespace holdfast::zookeeper {

namespace {

constexpr std::size_t part_size = std::size_t{1} << 19;
constexpr std::string_view mark = "cell ";
// So many writes may come between one whose answer was lost and the question what became of it.
constexpr std::size_t remembered_writers = 32;

/// `cell <id of the writer> <parts> <id of the writer before>...\n`, then the value, unless it is in parts.
struct header {
  std::string id;
  std::size_t parts = 0;
  std::string_view earlier;  ///< Ids, each with a space before it.
  std::string_view value;

  static std::optional<header> read(std::string_view text) {
    const auto line = text.substr(0, text.find('\n'));
    if (!line.starts_with(mark) || line.size() == text.size()) return std::nullopt;
    const auto space = line.find(' ', mark.size());
    if (space == line.npos) return std::nullopt;
    header h;
    h.id = std::string(line.substr(mark.size(), space - mark.size()));
    const auto after = std::min(line.find(' ', space + 1), line.size());
    const auto number = line.substr(space + 1, after - space - 1);
    h.earlier = line.substr(after);
    const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), h.parts);
    if (failed != std::errc() || end != number.data() + number.size() || h.parts > 16) return std::nullopt;
    h.value = text.substr(line.size() + 1);
    return h;
  }

  /// Who wrote it `back` versions ago? Empty: that is not known any more.
  std::string_view writer(std::uint64_t back) const {
    if (back == 0) return id;
    const std::size_t each = id.size() + 1;
    return (back - 1) * each < earlier.size() ? earlier.substr((back - 1) * each + 1, id.size()) : std::string_view();
  }
  /// What the next one keeps of it.
  std::string writers() const {
    if (id.empty()) return {};
    return " " + id + std::string(earlier.substr(0, (remembered_writers - 1) * (id.size() + 1)));
  }
};

failure no_cell(const std::string& path) {
  return {errc::rejected, path + " holds something that is none of Holdfast's cells"};
}

std::uint64_t version_of(const ::Stat& stat) { return static_cast<std::uint64_t>(stat.version) + 1; }

}  // namespace

struct cells::writing {
  std::string path;
  std::uint64_t expected = 0;
  std::string value;
  std::string id;
  spi::completion<bool> done;
  std::string old_id;
  std::size_t old_parts = 0;
  std::string earlier;  ///< Writers before this one.

  std::size_t parts() const { return value.size() <= part_size ? 0 : (value.size() + part_size - 1) / part_size; }
};

std::string cells::part_path(const std::string& id, std::size_t which) const {
  return registers::path_in(store_.where(), "parts", id + "-" + std::to_string(which));
}

void cells::load(const std::string& name, spi::completion<spi::cell_value> done) {
  const std::string path = registers::path_in(store_.where(), "cells", name);
  store_.get(path, watching::no,
             [this, name, path, done = std::move(done)](int code, const std::string& text, const ::Stat& stat) mutable {
               if (code == ZNONODE) return done(spi::cell_value{});
               if (code != ZOK) return done(failure_of(code, "reading " + path));
               const auto head = header::read(text);
               if (!head) return done(no_cell(path));
               if (head->parts == 0) return done(spi::cell_value{std::string(head->value), version_of(stat)});
               load_parts(name, head->id, head->parts, version_of(stat), std::move(done));
             });
}

void cells::load_parts(const std::string& name, const std::string& id, std::size_t count, std::uint64_t version,
                       spi::completion<spi::cell_value> done) {
  struct reading {
    std::vector<std::string> parts;
    std::atomic<std::size_t> left;
    std::atomic<int> failed = ZOK;
    spi::completion<spi::cell_value> done;
  };
  const auto all = std::make_shared<reading>();
  all->parts.resize(count);
  all->left = count;
  all->done = std::move(done);
  for (std::size_t i = 0; i < count; ++i) {
    store_.get(part_path(id, i), watching::no,
               [this, all, i, name, version](int code, std::string part, const ::Stat&) {
                 if (code != ZOK) all->failed = code;
                 all->parts[i] = std::move(part);
                 if (--all->left != 0) return;
                 // Somebody has written since: there is a newer value to read.
                 if (all->failed == ZNONODE) return load(name, std::move(all->done));
                 if (all->failed != ZOK) return all->done(failure_of(all->failed, "reading a cell"));
                 spi::cell_value whole{{}, version};
                 for (const auto& one : all->parts) whole.value += one;
                 all->done(std::move(whole));
               });
  }
}

void cells::exchange(const std::string& name, std::uint64_t expected, std::string value, spi::owner_id id,
                     spi::completion<bool> done) {
  auto w = std::make_shared<writing>();
  w->path = registers::path_in(store_.where(), "cells", name);
  w->expected = expected;
  w->value = std::move(value);
  w->id = id.hex();
  w->done = std::move(done);
  look(w);
}

void cells::look(const writing_ptr& w) {
  store_.get(w->path, watching::no, [this, w](int code, const std::string& text, const ::Stat& stat) {
    if (code != ZOK && code != ZNONODE) return w->done(failure_of(code, "reading " + w->path));
    const auto version = code == ZOK ? version_of(stat) : 0;
    const auto head = code == ZOK ? header::read(text) : header{};
    if (!head) return w->done(no_cell(w->path));
    if (version > w->expected) return judge(w, head->writer(version - w->expected - 1));
    if (version != w->expected) return settle(w, false);
    w->earlier = head->writers();
    w->old_id = head->id;
    w->old_parts = head->parts;
    write_parts(w, 0);
  });
}

/// Somebody has written what comes after the version expected: this very request, maybe, whose answer was lost.
void cells::judge(const writing_ptr& w, std::string_view writer) {
  if (writer == w->id) return w->done(true);
  if (!writer.empty() || !doubtful(w->id)) return settle(w, false);
  w->done(failure{errc::rejected, w->path + ": the answer to a write was lost, and too many came after it to tell " +
                                      "whether it was made"});
}

/// Was this sent before, and never answered?
bool cells::doubtful(const std::string& id) {
  const std::lock_guard lock(mutex_);
  return std::find(unanswered_.begin(), unanswered_.end(), id) != unanswered_.end();
}

void cells::write_parts(const writing_ptr& w, std::size_t next) {
  if (next >= w->parts()) return commit(w);
  const std::string path = part_path(w->id, next);
  if (next == 0) registers::make_directory(store_, path);
  store_.create(path, w->value.substr(next * part_size, part_size), node_mode::persistent,
                [this, w, next](int code, const std::string&, const ::Stat&) {
                  if (code == ZOK || code == ZNODEEXISTS) return write_parts(w, next + 1);
                  settle(w, failure_of(code, "writing a cell"));
                });
}

void cells::commit(const writing_ptr& w) {
  const std::string text = std::string(mark) + w->id + " " + std::to_string(w->parts()) + w->earlier + "\n" +
                           (w->parts() == 0 ? w->value : "");
  const auto answered = [this, w](int code) {
    if (code == ZOK) return settle(w, true);
    if (code == ZBADVERSION || code == ZNODEEXISTS) return look(w);
    if (outcome_unknown(code)) remember(w->id);
    settle(w, failure_of(code, "writing " + w->path));
  };
  if (w->expected > 0)
    return store_.set(w->path, text, static_cast<int>(w->expected - 1),
                      [answered](int code, const ::Stat&) { answered(code); });
  store_.create(w->path, text, node_mode::persistent, [this, w, answered](int code, const std::string&, const ::Stat&) {
    if (code != ZNONODE) return answered(code);
    registers::make_directory(store_, w->path);
    commit(w);
  });
}

void cells::remember(const std::string& id) {
  const std::lock_guard lock(mutex_);
  unanswered_.push_back(id);
  if (unanswered_.size() > remembered_writers) unanswered_.pop_front();
}

/// What is not named any more, or never was, is removed; after a lost answer it is not known, and stays.
void cells::settle(const writing_ptr& w, result<bool> outcome) {
  if (outcome && *outcome) remove_parts(w->old_id, w->old_parts);
  if (outcome && !*outcome) remove_parts(w->id, w->parts());
  w->done(std::move(outcome));
}

void cells::remove_parts(const std::string& id, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) store_.remove(part_path(id, i), -1, [](int) {});
}

}  // namespace holdfast::zookeeper
