#include "redis_backend.hpp"

#include "cluster_ears.hpp"
#include "keys.hpp"
#include "pause.hpp"
#include "redis_error.hpp"

#include <algorithm>
#include <charconv>

namespace holdfast::redis {

using namespace std::chrono_literals;

namespace {

std::chrono::milliseconds whole_milliseconds(std::chrono::nanoseconds time) {
  return std::max(1ms, std::chrono::duration_cast<std::chrono::milliseconds>(time));
}

std::string milliseconds(std::chrono::nanoseconds time) { return std::to_string(whole_milliseconds(time).count()); }

/// pid, host and client name as entries keep them: tabs are what separates them.
std::string describe(const spi::identity& who) {
  std::string text = std::to_string(who.pid) + "\t" + who.host + "\t";
  for (const char c : who.client_name) text += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return text;
}

constexpr std::uint64_t no_place = 0;  // at the end of the line

std::string_view word(std::string_view& rest) {
  const auto space = rest.find(' ');
  const auto first = rest.substr(0, space);
  rest = space == rest.npos ? std::string_view() : rest.substr(space + 1);
  return first;
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

spi::owner_id id_of(std::string_view hex) {
  spi::owner_id id;
  for (std::size_t i = 0; i < id.bytes.size(); ++i)
    std::from_chars(hex.data() + 2 * i, hex.data() + 2 * i + 2, id.bytes[i], 16);
  return id;
}

/// On a single server the one connection; of a cluster one to each node that is needed.
std::shared_ptr<hearing> hear(const settings& where, const std::shared_ptr<cluster>& nodes, spi::runtime& engine,
                              hearing::callbacks tell) {
  if (!nodes) return std::make_shared<ears>(where, engine, std::move(tell));
  auto all = std::make_shared<cluster_ears>(nodes, engine, std::move(tell));
  nodes->when_read([weak = std::weak_ptr(all)] {
    if (auto self = weak.lock()) self->follow();
  });
  return all;
}

}  // namespace

failure other_kind(const std::string& name, spi::kind wanted, std::string_view present) {
  std::string now = "key that is no lock";
  if (const auto known = present.empty() ? std::nullopt : kind_of(present.front())) now = to_string(*known);
  if (present == "?") now = "number of another program";
  return {errc::rejected,
          "'" + name + "' is in use as a " + now + "; it cannot be a " + to_string(wanted) + " at the same time"};
}

result<std::unique_ptr<spi::backend>> redis_backend::open(settings where, spi::runtime& engine) {
  auto store = std::make_unique<redis_backend>(std::move(where), engine);
  if (auto good = store->prepare(); !good) return good.error();
  if (store->where_.whom == settings::role::master) store->follow_master();
  return std::unique_ptr<spi::backend>(std::move(store));
}

redis_backend::redis_backend(settings where, spi::runtime& engine, link::on_introduced introduced)
    : where_(std::move(where)),
      layout_(where_),
      engine_(engine),
      uuid_(random_uuid()),
      who_(describe(engine.who())),
      courier_(where_, engine, std::move(introduced)),
      witnesses_(witnesses::wanted_by(where_, engine)),
      // They are called by threads that are gone before this is: the reactor, and those lent by who waits.
      ears_(hear(where_, courier_.nodes(), engine,
                 hearing::callbacks{[this](auto channel, auto payload) { on_message(channel, payload); },
                                    [this] {
                                      tickets_.wake_all();
                                      observers_->tell_all();
                                    }})),
      observers_(std::make_shared<observers>(engine)) {}

void redis_backend::follow_master() {
  master_watch_ = std::make_shared<master_watch>(where_, engine_, [this](const std::string& server) {
    courier_.leave_for(server);
    ears_->leave_for(server);
    if (witnesses_) witnesses_->leave_for(server);
  });
  master_watch_->start();
}

std::string redis_backend::identity() const {
  if (courier_.nodes()) return courier_.nodes()->identity();
  const std::string server = "redis:" + where_.shown() + "/" + std::to_string(where_.database);
  return where_.layout == key_layout::plain ? server + "?plain=" + where_.prefix : server;
}

std::string redis_backend::owner(const spi::claim& c) const { return owner_of(uuid_, c.id); }

/// What every script is told first; see script_text.hpp.
std::string redis_backend::flags(spi::kind k) const {
  char ways = 'n';
  if (courier_.nodes()) ways = pubsub_ == publishing::both ? 'b' : pubsub_ == publishing::sharded ? 's' : 'p';
  return {letter(k), static_cast<char>(where_.tokens), ways};
}

redis_backend::words redis_backend::claim_arguments(const spi::claim& c) const {
  return {flags(c.kind), owner(c), c.id.hex()};
}

/// A request is given up after request_timeout and sent again soon after: ten times that is ample.
std::string redis_backend::memory() const {
  return milliseconds(std::max<std::chrono::nanoseconds>(10 * engine_.options().request_timeout, 60s));
}

redis_backend::words redis_backend::entry_arguments(const spi::entry_request& request, std::uint64_t place,
                                                    const std::string& who_asks, bool queue) const {
  const spi::claim& c = request.claim;
  // As the server keeps it and inspect reads it; see compose() in the prelude.
  std::string told = flags(c.kind);
  told += c.order == ordering::fifo ? 'f' : 'a';
  told += queue ? "1 " : "0 ";
  told += milliseconds(c.ttl) + " " + std::to_string(std::max<std::uint32_t>(1, request.tokens));
  told += c.access == spi::access::exclusive ? " x " : " s ";
  told += std::to_string(c.permits) + " " + c.id.hex() + "\t" + who_;
  words all{std::move(told), who_asks};
  if (c.kind == spi::kind::mutex && place == no_place) return all;
  all.push_back(place == no_place ? std::string() : std::to_string(place));
  if (c.kind == spi::kind::mutex) return all;
  all.push_back(std::to_string(c.limit));
  all.push_back(memory());
  return all;
}

void redis_backend::run(const script& what, words keys, words arguments, spi::caller from, link::answer told) {
  courier_.run({what, std::move(keys), std::move(arguments), std::move(told)}, from);
}

void redis_backend::enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) {
  enter_at(request, no_place, std::move(done));
}

void redis_backend::enter_at(const spi::entry_request& request, std::uint64_t place,
                             spi::completion<spi::entry_result> done) {
  const spi::claim& c = request.claim;
  if (const auto why = refusal(c.kind, c.name)) return done(*why);
  if (c.kind == spi::kind::permits && c.permits > c.limit) {
    return done(failure{errc::invalid_argument, "'" + c.name + "': " + std::to_string(c.permits) +
                                                    " permits asked for where there are " + std::to_string(c.limit)});
  }
  done = witnesses::before(witnesses_, *this, c, std::move(done));
  std::string who = owner(c);
  if (const auto why = tickets_.refusal(who)) {
    tickets_.close(who);
    return done(*why);
  }
  if (!request.queue || listening(c)) return enter_now(request, place, request.queue, std::move(done));
  // Whoever is in line must be heard of, or he is taken for dead. The first look does not need it: it may be free. If
  // it is not, the claim gets in line with its next look, as soon as we listen.
  tickets_.open(who, public_channel(c.kind, c.name), c.kind);
  enter_now(request, place, false, [this, c, who = std::move(who), done = std::move(done)](auto first) mutable {
    if (const auto* grant = first ? std::get_if<spi::granted>(&*first) : nullptr) {
      tickets_.settle(who, grant->first_token);
    } else if (first) {
      listen(subjects_of(c), [this, who](const result<void>& subscribed) { heard(who, subscribed); });
    }
    done(std::move(first));
  });
}

void redis_backend::enter_now(const spi::entry_request& request, std::uint64_t place, bool queue,
                              spi::completion<spi::entry_result> done) {
  std::string who = owner(request.claim);
  auto arguments = entry_arguments(request, place, who, queue);
  if (queue) tickets_.open(who, public_channel(request.claim.kind, request.claim.name), request.claim.kind);
  const auto sent = engine_.now();
  run(layout_.run().enter, layout_.keys(request.claim.name), std::move(arguments), request.caller,
      [this, request, queue, sent, who = std::move(who), done = std::move(done)](result<reply> said) mutable {
        if (!said) {
          // Somewhere in the script: what it wrote before is taken back. (Without an answer the engine does that.)
          if (said.error().code != errc::unavailable) {
            tickets_.close(who);
            leave(request.claim, spi::caller::must_not_block, [](const result<bool>&) {});
          }
          return done(said.error());
        }
        auto outcome = settle(request, *said, sent);
        const auto* grant = outcome ? std::get_if<spi::granted>(&*outcome) : nullptr;
        const bool waits = outcome && grant == nullptr;
        if (queue && waits && layout_.others_publish() && said->at(3).integer() == 1) hear_others(request.claim, who);
        if (!outcome) tickets_.close(who);
        if (grant != nullptr) tickets_.settle(who, grant->first_token);
        if (queue && !waits) {
          hush(public_channel(request.claim.kind, request.claim.name));
          if (const auto own = own_subject(request.claim)) ears_->ignore(*own);
        }
        done(std::move(outcome));
      });
}

result<spi::entry_result> redis_backend::settle(const spi::entry_request& request, const reply& said,
                                                spi::time_point sent) {
  const spi::claim& c = request.claim;
  if (said.what() == reply::type::text) {
    const auto now = said.unsigned_integer();
    clock_.note(now, sent);
    return spi::entry_result(spi::granted{fencing_token(now), 1, sent + whole_milliseconds(c.ttl)});
  }
  switch (said.at(0).integer()) {
    case 1: {
      if (said.size() < 5) break;
      clock_.note(said.at(4).unsigned_integer(), sent);
      if (c.kind == spi::kind::semaphore || c.kind == spi::kind::latch) return spi::entry_result(spi::granted{});
      const auto longest = std::chrono::ceil<std::chrono::milliseconds>(c.ttl).count();
      const auto left = std::chrono::milliseconds(std::clamp<std::int64_t>(said.at(3).integer(), 0, longest));
      return spi::entry_result(spi::granted{fencing_token(said.at(1).unsigned_integer()),
                                            static_cast<std::uint32_t>(said.at(2).integer()), sent + left});
    }
    case 0:
      if (said.size() < 5) break;
      clock_.note(said.at(4).unsigned_integer(), sent);
      return spi::entry_result(busy_until(said));
    case 2:
      return other_kind(c.name, c.kind, said.at(1).text());
    case 3:
      return {errc::rejected, "'" + c.name + "' is in use with " + std::to_string(said.at(1).integer()) +
                                  " permits; it cannot have " + std::to_string(c.limit) + " at the same time"};
    default:
      break;
  }
  return {errc::rejected, "'" + c.name + "': the server's answer makes no sense"};
}

/// The first in line looks when the holder's time ends, those behind a little later: by then it has it. And all look
/// now and then, the first of them every second: whoever got it meanwhile may have a shorter time, and a message may
/// have been lost. Where others tell nobody what they free, they are looked at every 50 ms at the latest.
spi::busy redis_backend::busy_until(const reply& said) const {
  // Others than us may hold it for longer than a clock can count.
  const auto ends = std::chrono::milliseconds(std::clamp<std::int64_t>(said.at(1).integer(), -1, 3'600'000));
  const auto rank = std::clamp<std::int64_t>(said.at(2).integer(), 0, 100);
  const bool unheard = said.at(3).integer() == 1 && !layout_.others_publish();
  const std::chrono::nanoseconds step = unheard ? pause_before_looking() : 1s;
  const auto seldom = std::min<std::chrono::nanoseconds>(step * (rank + 1), 15s);
  const auto wait = ends >= 0ms ? std::min<std::chrono::nanoseconds>(ends + 1ms + 50ms * rank, seldom) : seldom;
  return {engine_.now() + wait};
}

void redis_backend::watch(const spi::claim& queued, spi::completion<spi::wake> done) {
  tickets_.watch(owner(queued), std::move(done));
}

void redis_backend::on_message(std::string_view channel, std::string_view payload) {
  if (channel.starts_with("holdfast_client:")) return on_letter(payload);
  if (channel == event_channel) {
    if (const auto name = layout_.name_of(payload)) observers_->tell(*name);
    return;
  }
  const auto ours = channel.find(":" + uuid_ + ":");
  if (ours != channel.npos) return void(tickets_.wake(std::string(channel.substr(ours + 1)), spi::look_again{}));
  if (payload.size() > 1 && payload.front() == '0') return;  // from one of us: the line was served
  tickets_.wake_first_on(channel);
}

void redis_backend::on_letter(std::string_view payload) {
  const auto what = word(payload);
  if (what == "l") return void(tickets_.wake(std::string(payload), spi::look_again{}));
  if (what == "g") return on_grant(payload);
  if (what != "e" || payload.size() != 32) return;
  const spi::owner_id id = id_of(payload);
  tickets_.close(owner_of(uuid_, id));
  engine_.lost(id, loss::taken);
}

void redis_backend::on_grant(std::string_view letter) {
  const std::string who(word(letter));
  spi::granted grant;
  grant.first_token = fencing_token(number(word(letter)));
  const auto since = number(word(letter));
  const auto kind = word(letter).substr(0, 1);
  grant.expires = clock_.when(since, engine_.now()) + std::chrono::milliseconds(number(word(letter)));
  grant.tokens = static_cast<std::uint32_t>(number(word(letter)));
  // What must have witnesses is looked for by who waits for it, and found: its look is what asks them. And the time of
  // a letter is its node's, and only that of a single server is known here: who is in line at a cluster looks.
  // In a quorum a letter may be older than what was asked since: only an answer is a vote.
  const bool looks = witnesses_ || courier_.nodes() || where_.tokens == token_source::quorum;
  if (tickets_.wake(who, looks ? spi::wake(spi::look_again{}) : spi::wake(grant))) return;
  // Whom it is for has given up meanwhile, or was never here.
  word(letter);  // access
  spi::claim unwanted;
  unwanted.permits = static_cast<std::uint32_t>(number(word(letter)));
  const auto hex = letter.substr(0, letter.find('\t'));
  unwanted.kind = kind_of(kind.empty() ? '?' : kind.front()).value_or(spi::kind::latch);
  if (unwanted.kind == spi::kind::latch || hex.size() != 32) return;
  unwanted.id = id_of(hex);
  unwanted.name = layout_.name_of(letter.substr(letter.rfind('\t') + 1)).value_or("");
  leave(unwanted, spi::caller::must_not_block, [](const result<bool>&) {});
}

void redis_backend::leave(const spi::claim& ours, spi::caller from, spi::completion<bool> done) {
  std::string who = owner(ours);
  words arguments{flags(ours.kind), who};
  if (ours.kind != spi::kind::mutex) {
    arguments.push_back(ours.id.hex());
    arguments.push_back(std::to_string(ours.permits));
  }
  run(layout_.run().leave, layout_.keys(ours.name), std::move(arguments), from,
      [this, who = std::move(who), own = own_subject(ours), channel = public_channel(ours.kind, ours.name),
       done = std::move(done)](result<reply> said) mutable {
        // Also without an answer: nobody waits for it any more.
        tickets_.close(who);
        hush(channel);
        if (own) ears_->ignore(*own);
        if (!said) return done(said.error());
        done(said->integer() == 1);
      });
}

void redis_backend::yield(const spi::claim& held, std::uint64_t place, spi::completion<bool> done) {
  auto arguments = claim_arguments(held);
  const std::string who = arguments[1];
  arguments.push_back(std::to_string(place));
  // It may be handed back before the answer is here.
  tickets_.open(who, public_channel(held.kind, held.name), held.kind);
  run(layout_.run().yield, layout_.keys(held.name), std::move(arguments), spi::caller::must_not_block,
      [this, who, done = std::move(done)](result<reply> said) mutable {
        if (!said) return done(said.error());
        if (said->integer() == 1) tickets_.settle(who);
        if (said->integer() < 0) {
          tickets_.close(who);
          return done(failure{errc::lost, "the store does not know this lease any more"});
        }
        done(said->integer() == 1);
      });
}

void redis_backend::convert(const spi::claim& held, spi::access to, spi::caller from, spi::completion<bool> done) {
  if (to == spi::access::shared) return change_access(held, to, from, std::move(done));
  auto back = [this, held](spi::completion<bool> undone) {
    change_access(held, spi::access::shared, spi::caller::must_not_block, std::move(undone));
  };
  change_access(held, to, from, witnesses::before(witnesses_, held.name, std::move(back), std::move(done)));
}

void redis_backend::change_access(const spi::claim& held, spi::access to, spi::caller from,
                                  spi::completion<bool> done) {
  auto arguments = claim_arguments(held);
  arguments.emplace_back(to == spi::access::exclusive ? "x" : "s");
  run(layout_.run().convert, layout_.keys(held.name), std::move(arguments), from,
      [done = std::move(done)](result<reply> said) mutable {
        if (!said) return done(said.error());
        if (said->integer() < 0) return done(failure{errc::lost, "the store does not know this lease any more"});
        done(said->integer() == 1);
      });
}

void redis_backend::raise(const spi::claim& held, fencing_token floor, spi::caller from, spi::completion<bool> done) {
  constexpr std::uint64_t greatest = (std::uint64_t{1} << 53) - 1;  // Lua's numbers are exact up to here
  if (floor.value() > greatest)
    return done(
        failure{errc::unsupported, "Redis keeps tokens up to 2^53; " + std::to_string(floor.value()) + " is greater"});
  done = witnesses::before(witnesses_, held.name, nullptr, std::move(done));
  auto arguments = claim_arguments(held);
  arguments.push_back(std::to_string(floor.value()));
  run(layout_.run().raise, layout_.keys(held.name), std::move(arguments), from,
      [done = std::move(done)](result<reply> said) mutable {
        if (!said) return done(said.error());
        if (said->integer() < 0) return done(failure{errc::lost, "the store does not know this lease any more"});
        done(true);
      });
}

std::function<void()> redis_backend::observe(const std::string& prefix, std::function<void()> changed) {
  const auto id = observers_->add(prefix, changed);
  const subject events{subject::kind::channel, event_channel};
  // What happened before the subscription held is looked for once.
  ears_->listen(events, [changed](const result<void>&) { changed(); });
  return [this, id, events] {
    observers_->remove(id);
    if (!observers_->any()) ears_->ignore(events);
  };
}

}  // namespace holdfast::redis
