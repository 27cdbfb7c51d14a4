#include "process.hpp"

#include "descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <charconv>
#include <string_view>

namespace holdfast::sqlite {

namespace {

/// The beginning of a small file of /proc.
std::string read_small(const char* path) {
  const descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  std::array<char, 1024> text{};
  const auto got = ::read(file.get(), text.data(), text.size());
  return got > 0 ? std::string(text.data(), static_cast<std::size_t>(got)) : std::string();
}

}  // namespace

std::optional<std::uint64_t> start_time(pid_t pid) {
  const std::string stat = read_small(("/proc/" + std::to_string(pid) + "/stat").c_str());
  // The program's name, field 2, is in parentheses and may hold anything, parentheses too.
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::string_view rest = std::string_view(stat).substr(name_end + 1);
  for (int field = 2; field < 22; ++field) {
    const auto space = rest.find(' ');
    if (space == rest.npos) return std::nullopt;
    rest.remove_prefix(space + 1);
  }
  std::uint64_t start = 0;
  if (std::from_chars(rest.data(), rest.data() + rest.size(), start).ec != std::errc()) return std::nullopt;
  return start;
}

process process::self() {
  process me;
  me.pid = ::getpid();
  // In a pid namespace that was given no /proc of its own, /proc numbers the processes of another one: its entries are
  // about others, and nothing can be told from them.
  std::array<char, 32> name{};
  const auto length = ::readlink("/proc/self", name.data(), name.size());
  const bool ours =
      length > 0 && std::string_view(name.data(), static_cast<std::size_t>(length)) == std::to_string(me.pid);
  if (ours) me.start = start_time(me.pid).value_or(0);
  struct stat space{};
  if (::stat("/proc/self/ns/pid", &space) == 0) me.pid_namespace = space.st_ino;
  return me;
}

result<std::string> boot_id() {
  std::string id = read_small("/proc/sys/kernel/random/boot_id");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  if (id.empty()) return {errc::unsupported, "sqlite: needs /proc, to tell one boot of the machine from the next"};
  return id;
}

}  // namespace holdfast::sqlite
