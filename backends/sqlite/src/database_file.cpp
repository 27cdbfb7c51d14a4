#include "database_file.hpp"

#include "descriptor.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>
#include <vector>

namespace holdfast::sqlite {

namespace {

failure refused(const std::string& path, std::string why) { return {errc::rejected, path + ": " + std::move(why)}; }
failure refused_by_system(const std::string& path, int error) {
  return refused(path, std::generic_category().message(error));
}

result<std::string> path_of(uri& where) {
  const char* const right = "write sqlite:///absolute/path.db";
  if (!where.hosts.empty() || !where.user.empty() || !where.password.empty())
    return {errc::invalid_argument, std::string("URL: sqlite: has no host; ") + right};
  if (where.path.empty()) return {errc::invalid_argument, std::string("URL: sqlite: names no file; ") + right};
  if (where.path.front() != '/')
    return {errc::invalid_argument, "URL: the path '" + where.path + "' is relative; " + right};
  if (where.path.back() == '/')
    return {errc::invalid_argument, "URL: the path '" + where.path + "' ends in a slash; name a file in it"};
  if (auto left = where.expect_no_more_options("none"); !left) return left.error();
  return where.path;
}

/// The directory resolved, the last component as it is: that one must not be a link.
result<std::string> resolve(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string directory = slash == 0 ? "/" : path.substr(0, slash);
  std::array<char, PATH_MAX> real{};
  if (::realpath(directory.c_str(), real.data()) == nullptr) {
    if (errno == ENOENT) return refused(path, "the directory '" + directory + "' does not exist");
    return refused_by_system(directory, errno);
  }
  std::string resolved = real.data();
  if (resolved.back() != '/') resolved += '/';
  return resolved + path.substr(slash + 1);
}

/// File systems that several machines may see at once. SQLite's log lives in shared memory, which they do not share;
/// and every machine has a boot-time clock of its own.
const char* shared_between_machines(const std::string& path) {
  struct statfs fs{};
  if (::statfs(path.c_str(), &fs) != 0) return nullptr;
  switch (static_cast<unsigned long>(fs.f_type)) {
    case NFS_SUPER_MAGIC:
      return "NFS";
    case SMB_SUPER_MAGIC:
    case CIFS_SUPER_MAGIC:
    case SMB2_SUPER_MAGIC:
      return "SMB";
    case AFS_SUPER_MAGIC:
    case AFS_FS_MAGIC:
      return "AFS";
    case CEPH_SUPER_MAGIC:
      return "Ceph";
    case CODA_SUPER_MAGIC:
      return "Coda";
    case OCFS2_SUPER_MAGIC:
      return "OCFS2";
    case V9FS_MAGIC:
      return "9P";
    default:
      return nullptr;
  }
}

std::uint32_t big_endian(const unsigned char* bytes) {
  return (std::uint32_t{bytes[0]} << 24) | (std::uint32_t{bytes[1]} << 16) | (std::uint32_t{bytes[2]} << 8) | bytes[3];
}

/// The first bytes say whose file it is. Ours carries its mark there from its first commit on.
result<void> check_header(const std::string& path) {
  const descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return refused_by_system(path, errno);
  std::array<unsigned char, 100> header{};
  const auto got = ::pread(file.get(), header.data(), header.size(), 0);
  if (got < 0) return refused_by_system(path, errno);
  if (got == 0) return {};
  if (got < static_cast<ssize_t>(header.size()) || std::memcmp(header.data(), "SQLite format 3", 16) != 0)
    return refused(path, "it is not an SQLite database");
  if (big_endian(&header[68]) != application_id)
    return refused(path, "it is an SQLite database of another program; Holdfast wants a file of its own");
  return {};
}

}  // namespace

/// The databases this process has open. Closing any descriptor of a file drops all POSIX locks the process has on it,
/// and with them those of SQLite: so a file that is open already must not be opened by us for a look.
class database_file::registered {
 public:
  using key = std::pair<dev_t, ino_t>;

  /// Makes the file, private, unless it is there. Under the table's mutex, so that no other thread has opened it before
  /// the descriptor that made it is closed. The error number, or 0.
  static int make(const std::string& path) {
    std::lock_guard lock(all().mutex);
    const descriptor made(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    return made || errno == EEXIST ? 0 : errno;
  }

  /// Calls `first` if nobody has it open yet, and notes it if that succeeds.
  static result<std::shared_ptr<registered>> add(key file, const auto& first) {
    auto& [mutex, open] = all();
    std::lock_guard lock(mutex);
    if (open[file] == 0) {
      if (auto good = first(); !good) return open.erase(file), good.error();
    }
    ++open[file];
    return std::make_shared<registered>(file);
  }

  explicit registered(key file) : file_(file) {}
  registered(const registered&) = delete;
  registered& operator=(const registered&) = delete;
  ~registered() {
    auto& [mutex, open] = all();
    std::lock_guard lock(mutex);
    if (--open[file_] == 0) open.erase(file_);
  }

 private:
  struct table {
    std::mutex mutex;
    std::map<key, int> open;
  };
  static table& all() {
    // Never destroyed: clients in static objects may go after it would.
    static auto* const instance = new table;
    return *instance;
  }

  key file_;
};

result<database_file> database_file::prepare(uri where) {
  auto named = path_of(where);
  if (!named) return named.error();
  auto resolved = resolve(*named);
  if (!resolved) return resolved.error();
  database_file file;
  file.path_ = std::move(*resolved);
  if (const int error = registered::make(file.path_); error != 0) return refused_by_system(file.path_, error);
  if (auto good = file.look(file.path_); !good) return good.error();
  return file;
}

result<void> database_file::look(const std::string& path) {
  struct stat is{};
  if (::lstat(path.c_str(), &is) != 0) return refused_by_system(path, errno);
  if (S_ISLNK(is.st_mode)) return refused(path, "it is a symbolic link; name the file itself");
  if (S_ISDIR(is.st_mode)) return refused(path, "it is a directory; name a file in it");
  if (!S_ISREG(is.st_mode)) return refused(path, "it is not a file");
  // SQLite names its log after the path: by two names there would be two logs for one database.
  if (is.st_nlink > 1) return refused(path, "it has several names (hard links); keep one");
  if (const char* kind = shared_between_machines(path))
    return {errc::unsupported, path + ": " + kind + " is shared between machines; sqlite: is for one machine"};
  empty_ = is.st_size == 0;
  owner_ = is.st_uid;
  group_ = is.st_gid;
  device_ = is.st_dev;
  inode_ = is.st_ino;
  auto noted = registered::add({device_, inode_}, [&] { return check_header(path); });
  if (!noted) return noted.error();
  registered_ = std::move(*noted);
  return {};
}

std::string database_file::identity() const {
  return "sqlite:" + std::to_string(device_) + ":" + std::to_string(inode_);
}

}  // namespace holdfast::sqlite
