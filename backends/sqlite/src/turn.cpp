#include "turn.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <ctime>

namespace holdfast::sqlite {

namespace {

// 0: nobody's. Else the tag of who has it, and this bit if somebody sleeps for it.
constexpr std::uint32_t awaited = 0x80000000U;
constexpr std::size_t mapping_size = 4096;
// Longer than a transaction: mostly the turn comes free before a sleep would have begun.
constexpr std::chrono::microseconds longest_awake{50};
constexpr int spins = 16;

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

long futex(std::atomic<std::uint32_t>* word, int operation, std::uint32_t value, const timespec* timeout) noexcept {
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(word), operation, value, timeout, nullptr, 0);
}

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

turn::turn(const descriptor& file, std::uint32_t tag) noexcept : tag_((tag & ~awaited) | 1U) {
  struct stat is{};
  // One name only: by another it could be a file that is dear to somebody.
  if (!file || ::fstat(file.get(), &is) != 0 || !S_ISREG(is.st_mode) || is.st_nlink != 1) return;
  // With its blocks: to touch a mapping that a full disk cannot back would be fatal. Never shorter again.
  if (::fallocate(file.get(), 0, 0, mapping_size) != 0) return;
  void* mapped = ::mmap(nullptr, mapping_size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped != MAP_FAILED) word_ = static_cast<std::atomic<std::uint32_t>*>(mapped);
}

turn::~turn() {
  give();
  if (word_ != nullptr) ::munmap(word_, mapping_size);
}

bool turn::wait(std::uint32_t seen, clock::time_point until) noexcept {
  const auto left = until - clock::now();
  if (left <= clock::duration::zero()) return false;
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
  const timespec timeout{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  futex(word_, FUTEX_WAIT, seen, &timeout);
  return true;
}

bool turn::take_awake() noexcept {
  for (const auto until = clock::now() + longest_awake; clock::now() < until;) {
    for (int i = 0; i < spins; ++i) {
      std::uint32_t nobody = 0;
      if (word_->load() == 0 && word_->compare_exchange_strong(nobody, tag_)) return true;
      relax();
    }
  }
  return false;
}

bool turn::take(clock::time_point deadline) noexcept {
  if (word_ == nullptr) return false;
  std::uint32_t nobody = 0;
  if (word_->compare_exchange_strong(nobody, tag_)) return true;
  if (take_awake()) return true;
  const auto until = std::min(deadline, clock::now() + patience);
  for (;;) {
    std::uint32_t seen = word_->load();
    // Who has slept cannot know whether others still do, and says so.
    if (seen == 0) {
      if (word_->compare_exchange_strong(seen, tag_ | awaited)) return true;
      continue;
    }
    if ((seen & awaited) == 0 && !word_->compare_exchange_strong(seen, seen | awaited)) continue;
    if (!wait(seen | awaited, until)) return false;
  }
}

void turn::take_over() noexcept {
  if (word_ != nullptr) word_->store(tag_ | awaited);
}

void turn::give() noexcept {
  if (word_ == nullptr) return;
  std::uint32_t seen = word_->load();
  do {
    if ((seen & ~awaited) != tag_) return;  // taken over meanwhile
  } while (!word_->compare_exchange_weak(seen, 0));
  if ((seen & awaited) != 0) futex(word_, FUTEX_WAKE, 1, nullptr);
}

}  // namespace holdfast::sqlite
