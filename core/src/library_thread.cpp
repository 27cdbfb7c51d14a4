#include "library_thread.hpp"

#include "thread_pool.hpp"

#include <holdfast/backend.hpp>

#include <pthread.h>
#include <signal.h>

namespace holdfast::detail {

namespace {

thread_local bool of_the_library = false;

}  // namespace

void enter_library_thread(const std::string& name) {
  of_the_library = true;
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  ::pthread_setname_np(::pthread_self(), name.substr(0, 15).c_str());
}

bool on_library_thread() noexcept { return of_the_library; }

void dispose(unique_function<void()> destroy) {
  if (!of_the_library) return destroy();
  // Never destroyed: it may be at work while the program's static objects go.
  static auto* const undertaker = new thread_pool("hf-dispose", 1, [](const char*) {});
  undertaker->post(std::move(destroy));
}

}  // namespace holdfast::detail

namespace holdfast::spi {

void adopt_this_thread() { detail::enter_library_thread("hf-client"); }

}  // namespace holdfast::spi
