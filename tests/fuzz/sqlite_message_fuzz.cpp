// Any bytes as a datagram in a client's mailbox: whole messages of known kinds, or nothing.
#include "check.hpp"

#include "message.hpp"

#include <span>

using holdfast::fuzz::check;
using holdfast::sqlite::message;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  const auto messages = holdfast::sqlite::parse(std::as_bytes(std::span(bytes, size)));
  check(messages.empty() || messages.size() * sizeof(message) == size, "all of a datagram or none of it");
  for (const auto& m : messages) {
    check(m.what == message::kind::granted || m.what == message::kind::look_again || m.what == message::kind::evicted ||
              m.what == message::kind::next,
          "only kinds that are known");
  }
  return 0;
}
