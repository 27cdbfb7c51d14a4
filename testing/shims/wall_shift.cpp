// Preloaded into a process, shifts its wall clock, and only that, by the number of seconds in the file
// $HOLDFAST_WALL_SHIFT (eight bytes, mapped: a change is seen at the next look). The monotonic and boot-time clocks
// stay.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

std::int64_t shift() noexcept {
  static const volatile std::int64_t* const seconds = []() -> const volatile std::int64_t* {
    const char* file = std::getenv("HOLDFAST_WALL_SHIFT");
    const int fd = file == nullptr ? -1 : ::open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return nullptr;
    void* mapped = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
    ::close(fd);
    return mapped == MAP_FAILED ? nullptr : static_cast<const volatile std::int64_t*>(mapped);
  }
  ();
  return seconds == nullptr ? 0 : *seconds;
}

}  // namespace

extern "C" {

// The system call itself: looking up the function this one replaces could come back here before it is ready.
[[gnu::visibility("default")]] int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long outcome = ::syscall(SYS_clock_gettime, clock, now);
  if (outcome == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += shift();
  return static_cast<int>(outcome);
}

[[gnu::visibility("default")]] int gettimeofday(timeval* now, void*) noexcept {
  timespec precise{};
  const int outcome = clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return outcome;
}

[[gnu::visibility("default")]] time_t time(time_t* now) noexcept {
  timespec precise{};
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now != nullptr) *now = precise.tv_sec;
  return precise.tv_sec;
}
}
