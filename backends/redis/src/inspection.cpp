#include "inspection.hpp"

#include "keys.hpp"
#include "redis_backend.hpp"
#include "redis_error.hpp"

#include <algorithm>
#include <charconv>

namespace holdfast::redis {

namespace {

std::string_view cut(std::string_view& rest, char at) {
  const auto end = rest.find(at);
  const auto first = rest.substr(0, end);
  rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  return first;
}

template <class Number>
Number as(std::string_view text) {
  Number value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// An entry of a holder or waiter; see compose() in the prelude. Empty: somebody else's.
participant participant_of(std::string_view owner, std::string_view stored) {
  participant who;
  who.owner = owner;
  if (stored.empty()) return who;
  auto text = cut(stored, '\t');
  who.token = fencing_token(as<std::uint64_t>(cut(text, ' ')));
  who.since = std::chrono::system_clock::time_point(std::chrono::microseconds(as<std::int64_t>(cut(text, ' '))));
  cut(text, ' ');  // flags
  cut(text, ' ');  // ttl
  cut(text, ' ');  // tokens
  who.shared = cut(text, ' ') == "s";
  who.permits = as<std::uint32_t>(cut(text, ' '));
  who.owner = text;
  who.pid = as<std::int64_t>(cut(stored, '\t'));
  who.host = cut(stored, '\t');
  who.client_name = stored;
  return who;
}

}  // namespace

std::optional<entry> entry_of(const std::string& name, const reply& said) {
  const auto kind = said.at(0).text().empty() ? std::nullopt : kind_of(said.at(0).text().front());
  if (!kind) return std::nullopt;
  entry shown{name, to_string(*kind), {}, {}};
  const reply holders = said.at(1);
  for (std::size_t i = 0; i + 3 < holders.size(); i += 4) {
    auto who = participant_of(holders.at(i).text(), holders.at(i + 1).text());
    who.remaining = std::chrono::milliseconds(std::max<std::int64_t>(0, holders.at(i + 2).integer()));
    who.shared = holders.at(i + 3).text() == "s";
    shown.holders.push_back(std::move(who));
  }
  const reply waiters = said.at(2);
  for (std::size_t i = 0; i + 1 < waiters.size(); i += 2) {
    shown.waiters.push_back(participant_of(waiters.at(i).text(), waiters.at(i + 1).text()));
    shown.waiters.back().token = {};
  }
  if (shown.holders.empty() && shown.waiters.empty()) return std::nullopt;
  return shown;
}

inspection::inspection(courier& by, const layout& where, std::string prefix, describer describe,
                       spi::completion<std::vector<entry>> done)
    : courier_(by),
      prefix_(std::move(prefix)),
      describe_(std::move(describe)),
      layout_(where),
      servers_(by.servers()),
      trails_(where.trails(prefix_)),
      done_(std::move(done)) {}

void inspection::start() { scan(0, 0, "0"); }

void inspection::scan(std::size_t server, std::size_t trail, const std::string& cursor) {
  if (trail == trails_.size()) return scan(server + 1, 0, "0");
  if (server == servers_.size()) return ask();
  std::vector<std::string_view> words{"SCAN", cursor, "MATCH", trails_[trail].pattern, "COUNT", "1000"};
  if (!trails_[trail].type.empty()) words.insert(words.end(), {"TYPE", trails_[trail].type});
  courier_.ask_at(servers_[server], words, [self = shared_from_this(), server, trail](const result<reply>& said) {
    if (!said) return self->fail(said.error());
    self->on_page(server, trail, *said);
  });
}

void inspection::on_page(std::size_t server, std::size_t trail, const reply& page) {
  const reply keys = page.at(1);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto lock = trails_[trail].lock_key(keys.at(i).text());
    auto name = lock ? layout_.name_of(*lock) : std::nullopt;
    // What a cluster cannot have from us is not ours to describe.
    if (name && courier_.nodes() && !keeps_its_slot(spi::kind::mutex, *name)) continue;
    if (name && name->starts_with(prefix_)) names_.insert(std::move(*name));
  }
  const std::string cursor(page.at(0).text());
  if (cursor == "0")
    scan(server, trail + 1, "0");
  else
    scan(server, trail, cursor);
}

void inspection::ask() {
  left_ = names_.size() + 1;
  const auto names = names_;
  for (const auto& name : names) {
    describe_(name, [self = shared_from_this(), name](const result<reply>& said) {
      if (!said) return self->fail(said.error());
      self->on_entry(name, *said);
      self->one_less();
    });
  }
  one_less();
}

void inspection::on_entry(const std::string& name, const reply& said) {
  auto shown = entry_of(name, said);
  if (!shown) return;
  const std::lock_guard lock(mutex_);
  found_.push_back(std::move(*shown));
}

void inspection::one_less() {
  spi::completion<std::vector<entry>> done;
  std::vector<entry> found;
  {
    const std::lock_guard lock(mutex_);
    if (--left_ != 0 || !done_) return;
    done = std::move(done_);
    found = std::move(found_);
  }
  std::sort(found.begin(), found.end(), [](const entry& a, const entry& b) { return a.name < b.name; });
  done(std::move(found));
}

void inspection::fail(const failure& why) {
  spi::completion<std::vector<entry>> done;
  {
    const std::lock_guard lock(mutex_);
    done = std::move(done_);
  }
  if (done) done(why);
}

void redis_backend::inspect(const std::string& prefix, spi::completion<std::vector<entry>> done) {
  const auto describe = [this](const std::string& name, link::answer told) {
    run(layout_.run().describe, layout_.keys(name), {flags(spi::kind::mutex)}, spi::caller::must_not_block,
        std::move(told));
  };
  std::make_shared<inspection>(courier_, layout_, prefix, describe, std::move(done))->start();
}

void redis_backend::evict(const std::string& name, spi::completion<bool> done) {
  if (const auto why = refusal(spi::kind::mutex, name)) return done(*why);
  run(layout_.run().evict, layout_.keys(name), {flags(spi::kind::mutex)}, spi::caller::must_not_block,
      [name, done = std::move(done)](result<reply> said) mutable {
        if (!said) return done(said.error());
        if (said->integer() < 0)
          return done(failure{errc::rejected, "'" + name + "' is a key that is no lock: it is left alone"});
        done(said->integer() == 1);
      });
}

}  // namespace holdfast::redis
