#include <holdfast/backend.hpp>

#include "fork_generation.hpp"

#include <sys/random.h>

#include <cerrno>
#include <system_error>

namespace holdfast::spi {

namespace {

failure cannot(const char* what) { return {errc::unsupported, std::string("this store has no ") + what}; }

}  // namespace

const char* to_string(kind k) noexcept {
  switch (k) {
    case kind::mutex:
      return "mutex";
    case kind::shared_mutex:
      return "shared_mutex";
    case kind::permits:
      return "permit_semaphore";
    case kind::semaphore:
      return "counting_semaphore";
    case kind::latch:
      return "latch";
  }
  return "unknown";
}

owner_id owner_id::random() {
  // Drawn in blocks: one system call for 64 ids, and never shared between threads.
  thread_local std::array<owner_id, 64> pool;
  thread_local std::size_t next = pool.size();
  // A forked child has its parent's pool: using it would give two owners one id.
  thread_local std::uint64_t drawn_in = 0;
  if (next == pool.size() || drawn_in != detail::fork_generation()) {
    std::size_t filled = 0;
    auto* bytes = reinterpret_cast<std::uint8_t*>(pool.data());
    while (filled < sizeof pool) {
      const auto got = ::getrandom(bytes + filled, sizeof pool - filled, 0);
      if (got > 0)
        filled += static_cast<std::size_t>(got);
      else if (errno != EINTR)
        throw std::system_error(errno, std::generic_category(), "getrandom");
    }
    next = 0;
    drawn_in = detail::fork_generation();
  }
  return pool[next++];
}

std::string owner_id::hex() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(32);
  for (const auto byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

bool backend::lend(loan& /*mine*/) { return false; }
void backend::end(loan& mine) noexcept {
  mine.over = true;
  mine.bell.release();
}
void backend::convert(const claim&, access, caller, completion<bool> done) { done(cannot("read-write locks")); }
void backend::raise(const claim&, fencing_token, caller, completion<bool> done) {
  done(cannot("way to raise its tokens"));
}
void backend::count(const count_request&, caller, completion<count_reply> done) { done(cannot("counters")); }
void backend::load_cell(const std::string&, caller, completion<cell_value> done) { done(cannot("cells")); }
void backend::exchange_cell(const std::string&, std::uint64_t, std::string, owner_id, caller, completion<bool> done) {
  done(cannot("cells"));
}
void backend::admit(const std::string&, fencing_token, caller, completion<fencing_token> done) {
  done(cannot("fences"));
}

void backend::examine(completion<std::vector<finding>> done) { done(std::vector<finding>{}); }

}  // namespace holdfast::spi
