// Any bytes as what a server answers: whole replies that may be looked at from every side, or a failure. Cut anywhere,
// the same bytes give the same.
#include "check.hpp"

#include "redis_error.hpp"
#include "reply.hpp"
#include "slots.hpp"

#include <string>

using holdfast::fuzz::check;
using holdfast::redis::node_address;
using holdfast::redis::redirection;
using holdfast::redis::reply;
using holdfast::redis::reply_reader;
using holdfast::redis::slot_map;

namespace {

/// Touches all of it; how much there was.
std::size_t walk(const reply& r, std::size_t depth = 0) {
  std::size_t seen = 1 + r.text().size() % 2;
  static_cast<void>(r.integer());
  static_cast<void>(r.unsigned_integer());
  check(r.at(r.size()).what() == reply::type::nil, "nothing beyond the end");
  check(depth < 32, "not nested without bounds");
  for (std::size_t i = 0; i < r.size(); ++i) seen += walk(r.at(i), depth + 1);
  return seen;
}

struct outcome {
  std::size_t replies = 0;
  std::size_t seen = 0;
  bool failed = false;
  friend bool operator==(const outcome&, const outcome&) = default;
};

outcome read(std::string_view text, std::size_t cut) {
  reply_reader reader;
  outcome all;
  for (const auto part : {text.substr(0, cut), text.substr(cut)}) {
    reader.feed(part);
    const auto replies = reader.take();
    if (!replies) {
      all.failed = true;
      break;
    }
    for (const auto& r : *replies) {
      ++all.replies;
      all.seen += walk(r);
      const node_address asked{"127.0.0.1", "7000"};
      static_cast<void>(slot_map::from(r, asked));
      if (!r.is_error()) continue;
      static_cast<void>(redirection::from(r.text(), asked));
      check(!holdfast::redis::failure_of(r.text()).detail.empty(), "an error has a text");
    }
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  const auto text = holdfast::fuzz::text_of(bytes, size);
  const auto whole = read(text, 0);
  const auto halves = read(text, size / 2);
  check(whole.failed == halves.failed, "how it is cut does not decide whether it is RESP");
  if (!whole.failed) check(whole == halves, "how it is cut does not decide what it says");
  return 0;
}
