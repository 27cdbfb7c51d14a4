#include "fork_generation.hpp"

#include <pthread.h>

#include <atomic>

namespace holdfast::detail {

namespace {

std::atomic<std::uint64_t> generation{1};

const int registered = ::pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

// Relaxed: the child has one thread when the handler runs.
std::uint64_t fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }

}  // namespace holdfast::detail
