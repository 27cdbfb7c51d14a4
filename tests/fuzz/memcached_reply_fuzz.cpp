// Any bytes as what a server answers, and as what it kept for us: whole replies that may be looked at from every side,
// or a failure. Cut anywhere, the same bytes give the same.
#include "check.hpp"

#include "memcached_error.hpp"
#include "record.hpp"
#include "reply.hpp"

#include <string>

using holdfast::fuzz::check;
using holdfast::memcached::record;
using holdfast::memcached::reply;
using holdfast::memcached::reply_reader;

namespace {

struct outcome {
  std::size_t replies = 0;
  std::size_t seen = 0;
  bool failed = false;
  friend bool operator==(const outcome&, const outcome&) = default;
};

std::size_t walk(const reply& r) {
  check(!r.text.empty(), "a reply has a line");
  check(r.kind == reply::what::list || r.lines.empty(), "only lists have lines");
  check(r.kind == reply::what::value || r.body.empty(), "only values have a body");
  static_cast<void>(r.number('c'));
  static_cast<void>(r.flag('O'));
  static_cast<void>(r.stat("time"));
  if (r.kind == reply::what::error)
    check(!holdfast::memcached::failure_of(r.text).detail.empty(), "an error has a text");
  if (const auto known = record::decoded(r.body)) {
    const auto again = record::decoded(known->encoded());
    check(again && again->encoded() == known->encoded(), "what was read can be written");
  }
  return r.text.size() + r.body.size() + r.lines.size();
}

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
    }
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  const auto text = holdfast::fuzz::text_of(bytes, size);
  const auto whole = read(text, 0);
  const auto halves = read(text, size / 2);
  check(whole.failed == halves.failed, "how it is cut does not decide whether it is memcached's");
  if (!whole.failed) check(whole == halves, "how it is cut does not decide what it says");
  static_cast<void>(record::decoded(text));
  return 0;
}
