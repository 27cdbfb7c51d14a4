#include "library_thread.hpp"

#include "thread_pool.hpp"

#include <pthread.h>

namespace holdfast::detail {

namespace {

thread_local bool on_library_thread = false;

}  // namespace

void enter_library_thread(const std::string& name) {
  on_library_thread = true;
  ::pthread_setname_np(::pthread_self(), name.substr(0, 15).c_str());
}

void dispose(unique_function<void()> destroy) {
  if (!on_library_thread) return destroy();
  // Never destroyed: it may be at work while the program's static objects go.
  static auto* const undertaker = new thread_pool("hf-dispose", 1, [](const char*) {});
  undertaker->post(std::move(destroy));
}

}  // namespace holdfast::detail
