#include "presence.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <atomic>

namespace holdfast::zookeeper {

namespace {

std::atomic<int> present{0};  // a child finds what its parent had, and nobody counts it down there
std::atomic<pid_t> whose{0};

}  // namespace

bool presence::possible() noexcept { return present == 0 || whose == ::getpid(); }

presence::presence() noexcept {
  whose = ::getpid();
  ++present;
}

presence::~presence() { --present; }

}  // namespace holdfast::zookeeper
