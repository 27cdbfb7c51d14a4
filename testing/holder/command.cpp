#include "session.hpp"

#include <sstream>
#include <stdexcept>

namespace holdfast::testing {

const char* const help_text =
    "lock_holder: takes and gives back locks as it is told, one command a line, one reply a line.\n"
    "  connect URL [ttl=MS] [request=MS] [name=NAME]\n"
    "  acquire|try KIND NAME [wait=MS] [ttl=MS] [order=fifo] [as=SLOT] -> granted TOKEN | busy | error ERRC ...\n"
    "      KIND: mutex recursive_mutex shared_mutex permit_semaphore multi_mutex quorum_mutex,\n"
    "      reader (of a shared_mutex), permits (with of=N [permits=N])\n"
    "  release|renew|token|valid|lost|cause [as=SLOT] (cause: the number of the loss)\n"
    "  lock|unlock|try_lock KIND NAME [order=fifo]\n"
    "  count KIND NAME LOOPS counter=FILE [history=FILE] [late=yes] [order=fifo] -> counted N\n"
    "  take|give NAME N (counting_semaphore)   count_down NAME N, wait NAME [wait=MS] (latch)\n"
    "  add NAME N (cell, N times one)   admit NAME TOKEN (fence)   stripe NAME N KEY (striped_mutex)\n"
    "  cancel (at once, whatever waits)   exit\n";

command command::parse(const std::string& line) {
  command c;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    // A URL may have options of its own: only what starts like a key is one.
    const bool keyed = equals != std::string::npos && word.find_first_of(":/?") > equals;
    if (keyed) {
      c.options[word.substr(0, equals)] = word.substr(equals + 1);
    } else {
      c.words.push_back(word);
    }
  }
  return c;
}

const std::string& command::word(std::size_t index) const {
  if (index >= words.size()) throw std::invalid_argument("word " + std::to_string(index) + " is missing");
  return words[index];
}

std::string command::option(const std::string& key, std::string otherwise) const {
  const auto found = options.find(key);
  return found == options.end() ? std::move(otherwise) : found->second;
}

std::optional<std::chrono::milliseconds> command::duration(const std::string& key) const {
  const std::string text = option(key);
  if (text.empty()) return std::nullopt;
  return std::chrono::milliseconds(std::stol(text));
}

long command::number(std::size_t index, long otherwise) const {
  return index < words.size() ? std::stol(words[index]) : otherwise;
}

acquire_options command::acquisition() const {
  acquire_options how;
  if (const auto wait = duration("wait")) how.wait = *wait;
  if (const auto ttl = duration("ttl")) how.ttl = *ttl;
  return how;
}

}  // namespace holdfast::testing
