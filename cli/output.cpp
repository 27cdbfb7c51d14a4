#include "output.hpp"

#include "exit_code.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

namespace holdfast::cli {
namespace {

bool write_all(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

void print(std::string_view text) {
  if (write_all(STDOUT_FILENO, text)) return;
  // A full disk behind `holdfast ls > file` must not look like success.
  say(std::string("cannot write to standard output: ") + std::strerror(errno));
  ::_exit(exit_code::failed);
}

void say(std::string_view line) noexcept {
  char text[4096] = "holdfast: ";
  std::size_t used = std::strlen(text);
  const std::size_t room = sizeof text - used - 1;
  const std::size_t n = line.size() < room ? line.size() : room;
  std::memcpy(text + used, line.data(), n);
  used += n;
  text[used++] = '\n';
  // Nothing is left to do about an error on standard error.
  static_cast<void>(write_all(STDERR_FILENO, {text, used}));
}

}  // namespace holdfast::cli
