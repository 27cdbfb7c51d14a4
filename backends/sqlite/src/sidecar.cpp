#include "sidecar.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

namespace holdfast::sqlite {

namespace {

std::string name_of(mailbox_id id) {
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(id));
  return digits.data();
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}

const sockaddr* generic(const sockaddr_un& address) { return reinterpret_cast<const sockaddr*>(&address); }

}  // namespace

sidecar::sidecar(const database_file& database) : owner_(database.owner()), group_(database.group()) {
  const std::string path = database.path() + "-holdfast";
  const std::string why = set_up(path);
  if (why.empty()) return;
  directory_ = descriptor();
  why_not_ = path + ": " + why + "; waiters poll";
}

std::string sidecar::set_up(const std::string& path) {
  const auto system_error = [] { return std::generic_category().message(errno); };
  const bool made = ::mkdir(path.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) return system_error();
  directory_ = descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory_) return system_error();
  // Root works in other people's databases without shutting them out.
  const bool for_owner = made && ::geteuid() == 0 && owner_ != 0;
  if (for_owner && ::fchown(directory_.get(), owner_, group_) != 0) return system_error();
  struct stat is{};
  if (::fstat(directory_.get(), &is) != 0) return system_error();
  if (is.st_uid != ::geteuid() && is.st_uid != owner_) return "it belongs to somebody else";
  if ((is.st_mode & 0022) != 0) return "others may write to it";
  if (::faccessat(directory_.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) return system_error();
  // Through the directory's descriptor any path fits in an address; but the way through /proc is the slower one.
  constexpr std::size_t longest = sizeof(sockaddr_un::sun_path) - 1 - sizeof("/0123456789abcdef");
  prefix_ = path.size() <= longest ? path + "/" : "/proc/self/fd/" + std::to_string(directory_.get()) + "/";
  sender_ = descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return {};
}

std::string sidecar::path_of(mailbox_id id) const { return prefix_ + name_of(id); }

void sidecar::belong_to_owner(const char* name) const noexcept {
  if (::geteuid() != 0 || owner_ == 0) return;
  [[maybe_unused]] const int changed = ::fchownat(directory_.get(), name, owner_, group_, AT_SYMLINK_NOFOLLOW);
}

descriptor sidecar::open(const char* name) const {
  if (!usable()) return {};
  descriptor file(::openat(directory_.get(), name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  belong_to_owner(name);
  return file;
}

descriptor sidecar::bind(mailbox_id id) const {
  if (!usable()) return {};
  descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(path_of(id));
  if (!socket || ::bind(socket.get(), generic(address), sizeof address) != 0) return {};
  belong_to_owner(name_of(id).c_str());
  return socket;
}

void sidecar::remove(mailbox_id id) const noexcept {
  if (usable()) ::unlinkat(directory_.get(), name_of(id).c_str(), 0);
}

void sidecar::remove_dead() const {
  const int listing = usable() ? ::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(listing < 0 ? nullptr : ::fdopendir(listing), ::closedir);
  if (!entries) return;
  while (const dirent* entry = ::readdir(entries.get())) {
    if (entry->d_type != DT_SOCK) continue;
    // A socket file whose socket is closed refuses to be connected to, whoever made it and in whatever namespace.
    const descriptor probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const sockaddr_un address = address_of(prefix_ + entry->d_name);
    if (::connect(probe.get(), generic(address), sizeof address) != 0 && errno == ECONNREFUSED)
      ::unlinkat(directory_.get(), entry->d_name, 0);
  }
}

sidecar::sent sidecar::send(mailbox_id to, std::span<const message> messages) const noexcept {
  if (!sender_) return sent::nobody;
  const sockaddr_un address = address_of(path_of(to));
  const auto result =
      ::sendto(sender_.get(), messages.data(), messages.size_bytes(), MSG_NOSIGNAL, generic(address), sizeof address);
  if (result >= 0) return sent::delivered;
  return errno == EAGAIN || errno == ENOBUFS || errno == EINTR ? sent::full : sent::nobody;
}

mailbox_id sidecar::random_id() {
  const spi::owner_id random = spi::owner_id::random();
  mailbox_id id = 0;
  std::memcpy(&id, random.bytes.data(), sizeof id);
  // Positive, so that it reads well, and never zero, which is nobody.
  return (id & 0x7fffffffffffffffLL) | 1;
}

}  // namespace holdfast::sqlite
