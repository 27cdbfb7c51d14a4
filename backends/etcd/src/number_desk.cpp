#include "number_desk.hpp"

#include <algorithm>
#include <charconv>

namespace holdfast::etcd {

namespace {

using op = spi::count_request::op;

constexpr unsigned most_tries = 64;
constexpr std::size_t most_unanswered = 4096;

template <class Number>
Number number(std::string_view text) {
  Number value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Twenty digits: as bytes they compare as the numbers do.
std::string digits(std::uint64_t value) {
  std::string text = std::to_string(value);
  return std::string(20 - text.size(), '0') + text;
}

/// What a step makes of a number; nothing: it would not fit.
std::optional<spi::count_reply> outcome(const spi::count_request& request, bool there, std::int64_t now) {
  spi::count_reply reply;
  reply.value = now;
  switch (request.what) {
    case op::get:
      break;
    case op::set_if_unset:
      reply.done = request.kind == spi::kind::semaphore ? !there : now == 0;
      if (reply.done) reply.value = request.amount;
      break;
    case op::add:
      if (__builtin_add_overflow(now, request.amount, &reply.value)) return std::nullopt;
      break;
    case op::subtract:
      reply.value = std::max<std::int64_t>(0, now - request.amount);
      break;
    case op::drain:
      reply.value = std::max<std::int64_t>(0, now);
      break;
  }
  return reply;
}

}  // namespace

void number_desk::count(const spi::count_request& request, spi::caller from, spi::completion<spi::count_reply> done) {
  read(std::make_shared<counting>(counting{request, from, std::move(done)}));
}

void number_desk::read(const step& s) {
  const auto& names = office_.names;
  const std::string& name = s->request.name;
  auto head = script::range(everything_below(names.line(name)), script::order::oldest_first);
  head.set_keys_only(true);
  script look;
  look.read(names.number(name, s->request.kind));
  if (s->request.what != op::get) {
    look.read(names.done(s->request.id));
    look.then(script::range(everything_below(names.others(name)), script::order::oldest_first)).then(std::move(head));
  }
  office_.txn(look, s->from, [this, s](const auto& said) {
    if (!said) return s->done(said.error());
    on_read(s, *said);
  });
}

std::optional<failure> number_desk::other_use(const step& s, const etcdserverpb::TxnResponse& said) const {
  const std::string& name = s->request.name;
  for (const auto& kv : said.responses(2).response_range().kvs()) {
    const auto place = office_.names.other_place_of(kv.key());
    const auto kind = place ? kind_of_other(place->what, kv.value()) : std::nullopt;
    if (kind && *kind != s->request.kind) return office::other_kind(name, s->request.kind, *kind);
  }
  for (const auto& kv : said.responses(3).response_range().kvs()) {
    const auto form = office_.names.form_of(name, kv.key());
    if (form == keys::form::nested) continue;
    return office::other_kind(name, s->request.kind,
                              form == keys::form::mutex ? spi::kind::mutex : spi::kind::shared_mutex);
  }
  return std::nullopt;
}

void number_desk::on_read(const step& s, const etcdserverpb::TxnResponse& said) {
  const auto& kvs = said.responses(0).response_range().kvs();
  const bool there = !kvs.empty();
  const std::int64_t now = there ? number<std::int64_t>(kvs.Get(0).value()) : 0;
  const auto reply = outcome(s->request, there, now);
  if (s->request.what == op::get) return s->done(*reply);
  const auto& before = said.responses(1).response_range().kvs();
  if (!before.empty()) {
    // Carried out by a try that was never answered.
    forget(s->request.id);
    return s->done(spi::count_reply{true, number<std::int64_t>(before.Get(0).value())});
  }
  if (const auto why = other_use(s, said)) return s->done(*why);
  if (!reply)
    return s->done(
        failure{errc::invalid_argument, "'" + s->request.name + "': the number of permits would not fit in 64 bits"});
  const std::int64_t next = s->request.what == op::drain ? now - reply->value : reply->value;
  const bool nothing_to_do =
      !reply->done || (!there && s->request.what == op::drain) || (!there && s->request.what == op::subtract);
  if (nothing_to_do) return s->done(*reply);
  write(s, there ? kvs.Get(0).mod_revision() : 0, there, next, *reply);
}

void number_desk::write(const step& s, std::int64_t seen, bool there, std::int64_t next, spi::count_reply reply) {
  office_.terms->session(s->from, [this, s, seen, there, next, reply](const result<leases::allotment>& given) {
    if (!given) return s->done(given.error());
    s->from = given->from;
    const std::string key = office_.names.number(s->request.name, s->request.kind);
    const std::string note = office_.names.done(s->request.id);
    script change;
    change.modified(key, seen).absent(note);
    // An open latch is none: nobody has to look at its number to see it.
    const bool opens = s->request.kind == spi::kind::latch && next == 0;
    if (!opens)
      change.put(key, std::to_string(next));
    else if (there)
      change.remove(key);
    change.put(note, std::to_string(reply.value), given->lease);
    office_.txn(change, s->from, [this, s, reply, lease = given->lease](const auto& said) {
      if (said && said->succeeded()) {
        forget(s->request.id);
        return s->done(reply);
      }
      if (!said && said.error().code == errc::lost) office_.terms->gone(lease);
      if (!said && said.error().code == errc::unavailable) note_unanswered(s->request.id);
      if (!said && said.error().code != errc::lost) return s->done(said.error());
      if (++s->tries > most_tries) return s->done(failure{errc::unavailable, "too many change it at the same time"});
      read(s);
    });
  });
}

/// A try that was not answered may be carried out late. The note keeps it from that; of a latch nothing else may, which
/// is set and opened and then as it was before.
void number_desk::forget(const spi::owner_id& id) {
  bool may_come_late = false;
  {
    const std::lock_guard lock(mutex_);
    may_come_late = unanswered_.erase(id) > 0;
  }
  const auto remove = [this, id] {
    script s;
    s.remove(office_.names.done(id));
    office_.txn(s, spi::caller::must_not_block, [](const auto&) {});
  };
  if (may_come_late) return office_.after_haunting(remove);
  remove();
}

void number_desk::note_unanswered(const spi::owner_id& id) {
  const std::lock_guard lock(mutex_);
  if (unanswered_.size() >= most_unanswered) unanswered_.erase(unanswered_.begin());
  unanswered_.insert(id);
}

void number_desk::load_cell(const std::string& name, spi::caller from, spi::completion<spi::cell_value> done) {
  office_.list(script::range(office_.names.cell(name)), from, [done = std::move(done)](const auto& said) mutable {
    if (!said) return done(said.error());
    if (said->kvs_size() == 0) return done(spi::cell_value{});
    done(spi::cell_value{said->kvs(0).value(), static_cast<std::uint64_t>(said->kvs(0).mod_revision())});
  });
}

void number_desk::exchange_cell(const std::string& name, std::uint64_t expected, const std::string& value,
                                const spi::owner_id& id, spi::caller from, spi::completion<bool> done) {
  office_.terms->session(
      from, [this, name, expected, value, id, done = std::move(done)](const result<leases::allotment>& given) mutable {
        if (!given) return done(given.error());
        const std::string key = office_.names.cell(name);
        const std::string note = office_.names.done(id);
        script s;
        s.modified(key, static_cast<std::int64_t>(expected)).put(key, value).put(note, {}, given->lease);
        s.otherwise(script::range(note));
        office_.txn(s, given->from, [this, id, lease = given->lease, done = std::move(done)](const auto& said) mutable {
          if (!said && said.error().code == errc::lost) {
            office_.terms->gone(lease);
            return done(failure{errc::unavailable, said.error().detail});  // asked again, in another session
          }
          if (!said) return done(said.error());
          const bool ours = said->succeeded() || said->responses(0).response_range().kvs_size() > 0;
          if (ours) forget(id);
          done(ours);
        });
      });
}

void number_desk::admit(const std::string& name, fencing_token token, spi::caller from,
                        spi::completion<fencing_token> done) {
  const std::string key = office_.names.fence(name);
  if (token.value() == 0) {
    return office_.list(script::range(key), from, [done = std::move(done)](const auto& said) mutable {
      if (!said) return done(said.error());
      done(fencing_token(said->kvs_size() == 0 ? 0 : number<std::uint64_t>(said->kvs(0).value())));
    });
  }
  // "It is greater" is false of a fence that is not there: then, and if it is not greater, the token is written.
  const std::string text = digits(token.value());
  script s;
  s.exceeds(key, text).read(key);
  s.otherwise_put(key, text);
  office_.txn(s, from, [token, done = std::move(done)](const auto& said) mutable {
    if (!said) return done(said.error());
    if (!said->succeeded()) return done(token);
    done(fencing_token(number<std::uint64_t>(said->responses(0).response_range().kvs(0).value())));
  });
}

}  // namespace holdfast::etcd
