#include "finding.hpp"

#include "../run/unique_fd.hpp"
#include "file_system.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace holdfast::cli {
namespace {

using level = finding::level;

void add_permissions(std::vector<finding>& found, const std::string& path, const char* what) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) {
    found.push_back({level::danger, std::string(what) + " '" + path + "' cannot be looked at"});
    return;
  }
  const std::string named = std::string(what) + " '" + path + "'";
  const bool sticky = S_ISDIR(file.st_mode) && (file.st_mode & S_ISVTX) != 0;
  if ((file.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !sticky) {
    found.push_back({level::danger, named + " can be written by other users: they can end and forge locks"});
  } else if ((file.st_mode & (S_IRGRP | S_IROTH)) != 0 && S_ISREG(file.st_mode)) {
    found.push_back({level::warning, named + " can be read by other users: they see lock names and who holds them"});
  } else {
    found.push_back({level::fact, named + " can be changed by its owner only"});
  }
  if (file.st_uid != ::geteuid()) {
    found.push_back({level::warning, named + " belongs to user " + std::to_string(file.st_uid) + ", not to you"});
  }
}

// Bytes 18 and 19 of the header are the versions to write and read: 2 means write-ahead log.
bool has_write_ahead_log(const std::string& path) {
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 2> versions{};
  return file && ::pread(file.get(), versions.data(), versions.size(), 18) == 2 && versions[0] == 2 && versions[1] == 2;
}

void add_space(std::vector<finding>& found, const file_system& disk) {
  constexpr unsigned long long too_little = 1 << 20;
  if (disk.read_only) found.push_back({level::danger, "the file system is mounted read-only"});
  if (disk.free_bytes < too_little) {
    found.push_back({level::danger, "less than 1 MiB is free on the file system: locks will be refused"});
  }
}

const finding one_machine{level::fact,
                          "reach: the processes of this machine; a holder that dies frees its lock at once, one in "
                          "another pid namespace when its ttl ends"};

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

}  // namespace

std::vector<finding> examine_sqlite(const uri& where) {
  std::vector<finding> found{one_machine};
  const file_system disk = file_system_of(where.path);
  if (disk.where == file_system::reach::network) {
    found.push_back({level::danger, "'" + where.path + "' is on " + disk.name +
                                        ": the write-ahead log needs memory shared by all users, which machines do not "
                                        "share; put the file on a local disk"});
  } else {
    found.push_back({level::fact, "'" + where.path + "' is on " + disk.name + ", a local file system"});
  }
  add_space(found, disk);
  if (has_write_ahead_log(where.path)) {
    found.push_back({level::fact, "the database has a write-ahead log: a crash leaves it whole"});
  } else {
    found.push_back({level::warning, "the database has no write-ahead log: holders and waiters slow each other down"});
  }
  add_permissions(found, where.path, "database");
  add_permissions(found, directory_of(where.path), "directory");
  return found;
}

std::vector<finding> examine_file(const uri& where) {
  std::vector<finding> found{one_machine};
  const file_system disk = file_system_of(where.path);
  if (disk.where == file_system::reach::network) {
    found.push_back({level::warning, "'" + where.path + "' is on " + disk.name +
                                         ": locks hold between machines only if its server keeps POSIX locks"});
  } else {
    found.push_back({level::fact, "'" + where.path + "' is on " + disk.name + ", a local file system"});
  }
  add_space(found, disk);
  add_permissions(found, where.path, "directory");
  return found;
}

std::vector<finding> examine_memory(const uri&) {
  return {{level::fact, "reach: this process only; meant for unit tests, of no use to the holdfast command"}};
}

}  // namespace holdfast::cli
