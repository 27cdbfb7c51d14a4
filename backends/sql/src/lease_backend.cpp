#include "lease_backend.hpp"

#include "refusals.hpp"

#include <algorithm>
#include <charconv>
#include <functional>

namespace holdfast::sql {

using namespace std::chrono_literals;

namespace {

// How long a place in line outlives the last word of who stands there. Looks come at most 15 s apart.
constexpr std::chrono::microseconds place_lasts = 60s;

std::int64_t microseconds(std::chrono::nanoseconds time) {
  return std::max<std::int64_t>(1, std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

/// pid, host and client name as rows keep them: tabs are what separates them.
std::string describe(const spi::identity& who) {
  std::string text = std::to_string(who.pid) + "\t" + who.host + "\t";
  for (const char c : who.client_name) text += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  // Not in the midst of a character.
  std::size_t end = std::min<std::size_t>(text.size(), 1000);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

std::string_view word(std::string_view& rest) {
  const auto space = rest.find(' ');
  const auto first = rest.substr(0, space);
  rest = space == rest.npos ? std::string_view() : rest.substr(space + 1);
  return first;
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

spi::owner_id id_of(std::string_view hex) {
  spi::owner_id id;
  if (hex.size() != 2 * id.bytes.size()) return id;
  for (std::size_t i = 0; i < id.bytes.size(); ++i)
    std::from_chars(hex.data() + 2 * i, hex.data() + 2 * i + 2, id.bytes[i], 16);
  return id;
}

std::string bytes_of_hex(std::string_view hex) {
  std::string bytes(hex.size() / 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned char byte = 0;
    std::from_chars(hex.data() + 2 * i, hex.data() + 2 * i + 2, byte, 16);
    bytes[i] = static_cast<char>(byte);
  }
  return bytes;
}

constexpr std::int64_t too_late = 4;  // of an entry: see backends/sql

/// In characters of UTF-8.
std::size_t length(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

bool is_number(spi::kind k) { return k == spi::kind::semaphore || k == spi::kind::latch; }

}  // namespace

std::string bytes_of(const spi::owner_id& id) {
  return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
}

failure other_kind(const std::string& name, spi::kind wanted, std::int64_t present) {
  return {errc::rejected, "'" + name + "' is in use as a " + to_string(static_cast<spi::kind>(present)) +
                              "; it cannot be a " + to_string(wanted) + " at the same time"};
}

failure not_ours() { return {errc::lost, "the store does not know this lease any more"}; }

lease_backend::lease_backend(spi::runtime& engine, statements say, const layout& which)
    : engine_(engine),
      say_(std::move(say)),
      shares_(which.shares()),
      holder_(describe(engine.who())),
      observers_(std::make_shared<observers>(engine)) {}

/// Calls on one name keep their order.
asking& lease_backend::link_for(const std::string& name) { return use(std::hash<std::string>()(name) % lock_links); }

asking& lease_backend::use(std::size_t index) {
  if (index != reports) last_link_.store(index, std::memory_order_relaxed);
  return link(index);
}

/// A request is given up after request_timeout and sent again soon after: ten times that is ample.
std::int64_t lease_backend::memory() const {
  return microseconds(std::max<std::chrono::nanoseconds>(10 * engine_.options().request_timeout, 60s));
}

/// When the link gives up on what is sent now, on the database's clock: it is not to be done after that.
std::int64_t lease_backend::last_moment(spi::time_point sent) const {
  return clock_.at(sent + engine_.options().request_timeout);
}

arguments lease_backend::entry_arguments(const spi::entry_request& request, line how, spi::time_point sent) const {
  const spi::claim& c = request.claim;
  arguments all;
  all.add_bytes(c.name).add(static_cast<std::int64_t>(c.kind)).add_bytes(bytes_of(c.id));
  all.add(static_cast<std::int64_t>(c.access)).add(c.permits).add(c.limit);
  all.add(std::max<std::uint32_t>(1, request.tokens)).add(microseconds(c.ttl)).add(how == line::joins ? 1 : 0);
  all.add(place_lasts.count()).add(ears().number()).add_bytes(holder_).add(memory());
  all.add(last_moment(sent));
  return all;
}

void lease_backend::enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) {
  const spi::claim& c = request.claim;
  if (c.kind == spi::kind::permits && c.permits > c.limit) {
    return done(failure{errc::invalid_argument, "'" + c.name + "': " + std::to_string(c.permits) +
                                                    " permits asked for where there are " + std::to_string(c.limit)});
  }
  if (shares_ && length(c.name) > longest_job) {
    return done(failure{errc::invalid_argument, "'" + c.name + "' has " + std::to_string(length(c.name)) +
                                                    " characters; ShedLock's table takes names of up to " +
                                                    std::to_string(longest_job)});
  }
  if (const auto why = tickets_.refusal(c.id)) {
    tickets_.close(c.id);
    return done(*why);
  }
  if (!request.queue) return enter_now(request, line::stays_out, std::move(done));
  tickets_.open(c.id, is_number(c.kind) ? tickets::grant::passes : tickets::grant::lasts);
  if (ears().number() != 0) return enter_now(request, line::joins, std::move(done));
  // Whoever is in line must be heard of, or he is passed over. The first look does not need it: it may be free. If it
  // is not, the claim gets in line with its next look, as soon as we listen.
  enter_now(request, line::stays_out, [this, id = c.id, done = std::move(done)](auto first) mutable {
    if (first && std::holds_alternative<spi::busy>(*first)) {
      try {
        listen_for(id);
      } catch (const std::exception& why) {  // no memory, or no thread to dial with: the next look tries again
        first = failure{errc::unavailable, why.what()};
      }
    }
    done(std::move(first));
  });
}

void lease_backend::listen_for(const spi::owner_id& id) {
  ears().listen([this, id](const result<void>& listens) {
    if (!listens && listens.error().code != errc::unavailable) return tickets_.fail(id, listens.error());
    tickets_.wake(id, spi::look_again{});
  });
}

void lease_backend::enter_now(const spi::entry_request& request, line how, spi::completion<spi::entry_result> done) {
  const spi::claim& c = request.claim;
  const auto sent = engine_.now();
  auto with = entry_arguments(request, how, sent);
  link_for(c.name).ask(is_number(c.kind) ? say_.enter_number : say_.enter, std::move(with), request.caller,
                       [this, request, how, sent, done = std::move(done)](const result<rows>& said) mutable {
                         on_entered(request, how, said, sent, std::move(done));
                       });
}

void lease_backend::on_entered(spi::entry_request request, line how, const result<rows>& said, spi::time_point sent,
                               spi::completion<spi::entry_result> done) {
  const spi::claim& c = request.claim;
  if (!said) {
    if (said.error().code != errc::unavailable) tickets_.close(c.id);
    return done(said.error());
  }
  if (const auto answer = said->record(); answer.size() == 5 && answer[0] == too_late) {
    // But it is not: the database's clock has jumped, or this is another server. By the new time, then.
    clock_.note(answer[4], sent, engine_.now());
    request.caller = spi::caller::must_not_block;
    return enter_now(request, how, std::move(done));
  }
  auto outcome = settle(c, *said, sent);
  if (!outcome)
    tickets_.close(c.id);
  else if (std::holds_alternative<spi::granted>(*outcome))
    tickets_.settle(c.id);
  done(std::move(outcome));
}

result<spi::entry_result> lease_backend::settle(const spi::claim& c, const rows& said, spi::time_point sent) {
  const auto answer = said.record();
  if (answer.size() != 5) return {errc::rejected, "'" + c.name + "': the server's answer makes no sense"};
  const auto [what, token, tokens, left, now] = std::array{answer[0], answer[1], answer[2], answer[3], answer[4]};
  switch (what) {
    case 1: {
      clock_.note(now, sent, engine_.now());
      if (is_number(c.kind)) return spi::entry_result(spi::granted{});
      const auto lasts = std::chrono::microseconds(std::clamp<std::int64_t>(left, 0, microseconds(c.ttl)));
      return spi::entry_result(spi::granted{fencing_token(static_cast<std::uint64_t>(token)),
                                            static_cast<std::uint32_t>(tokens), sent + lasts});
    }
    case 0:
      clock_.note(now, sent, engine_.now());
      return spi::entry_result(busy_until(left, tokens));
    case 2:
      return other_kind(c.name, c.kind, token);
    default:
      return {errc::rejected, "'" + c.name + "' is in use with " + std::to_string(token) + " permits; it cannot have " +
                                  std::to_string(c.limit) + " at the same time"};
  }
}

/// The first in line looks when the holder's time ends, those behind a little later: by then it has it. And all look
/// now and then, the first of them every second: whoever got it meanwhile may have a shorter time, and a notification
/// may have been lost.
spi::busy lease_backend::busy_until(std::int64_t left, std::int64_t ahead) const {
  const auto rank = std::clamp<std::int64_t>(ahead, 0, 100);
  const auto seldom = std::min<std::chrono::nanoseconds>(1s * (rank + 1), 15s);
  const auto ends = std::chrono::microseconds(std::clamp<std::int64_t>(left, 0, 3'600'000'000));
  const auto wait = left >= 0 ? std::min<std::chrono::nanoseconds>(ends + 1ms + 50ms * rank, seldom) : seldom;
  return {engine_.now() + wait};
}

void lease_backend::watch(const spi::claim& queued, spi::completion<spi::wake> done) {
  tickets_.watch(queued.id, std::move(done));
}

void lease_backend::on_message(std::string_view payload) {
  const auto what = word(payload);
  if (what == "g") return on_grant(payload);
  if (what != "e") return;
  const spi::owner_id id = id_of(payload);
  tickets_.close(id);
  engine_.lost(id, loss::taken);
}

void lease_backend::on_grant(std::string_view letter) {
  const spi::owner_id id = id_of(word(letter));
  spi::granted grant;
  grant.first_token = fencing_token(static_cast<std::uint64_t>(number(word(letter))));
  grant.tokens = static_cast<std::uint32_t>(number(word(letter)));
  const auto since = number(word(letter));
  const auto ttl = number(word(letter));
  // Permits of a semaphore and an open latch have no end.
  spi::wake why = spi::granted{};
  if (ttl != 0) {
    // Old news, or nobody knows how old: what there is now is for a look to find.
    const auto when = clock_.when(since, engine_.now());
    if (when) grant.expires = *when + std::chrono::microseconds(ttl);
    why = when && grant.expires > engine_.now() ? spi::wake(grant) : spi::wake(spi::look_again{});
  }
  if (tickets_.wake(id, why)) return;
  // Whom it is for gave up, and could not say so to the database: nobody else would give it back.
  spi::claim unwanted;
  unwanted.id = id;
  unwanted.name = bytes_of_hex(letter);
  unwanted.kind = ttl == 0 ? spi::kind::semaphore : spi::kind::mutex;
  give_back(unwanted);
}

/// Until the database has heard of it: permits of a semaphore do not end by themselves.
void lease_backend::give_back(const spi::claim& unwanted) {
  leave(unwanted, spi::caller::must_not_block, [this, unwanted](const result<bool>& done) {
    if (done || done.error().code != errc::unavailable) return;
    engine_.at(engine_.now() + 1s, [this, unwanted] { give_back(unwanted); });
  });
}

void lease_backend::leave(const spi::claim& ours, spi::caller from, spi::completion<bool> done) {
  arguments with;
  const bool number = is_number(ours.kind);
  with.add_bytes(ours.name);
  if (number) with.add(static_cast<std::int64_t>(ours.kind));
  with.add_bytes(bytes_of(ours.id));
  if (number) with.add(memory());
  link_for(ours.name).ask(number ? say_.leave_number : say_.leave, std::move(with), from,
                          [this, id = ours.id, done = std::move(done)](result<rows> said) mutable {
                            // Also without an answer: nobody waits for it any more.
                            tickets_.close(id);
                            if (!said) return done(said.error());
                            done(said->integer(0, 0) == 1);
                          });
}

std::function<void()> lease_backend::observe(const std::string& /*prefix*/, std::function<void()> changed) {
  const auto id = observers_->add(std::move(changed));
  return [this, id] { observers_->remove(id); };
}

}  // namespace holdfast::sql
