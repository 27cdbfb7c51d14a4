#pragma once

#include <holdfast/detail/function.hpp>

#include <string>

namespace holdfast::detail {

/// Names the calling thread (ps -L, debuggers; the kernel keeps 15 bytes) and marks it as one of the library's own.
/// Signals are blocked on it: the program's handlers run on the program's threads.
void enter_library_thread(const std::string& name);
bool on_library_thread() noexcept;

/// Runs `destroy` here, or, on one of the library's own threads, which cannot join themselves, on a thread kept for
/// that.
void dispose(unique_function<void()> destroy);

}  // namespace holdfast::detail
