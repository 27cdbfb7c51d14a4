#include "file_system.hpp"

#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <array>
#include <cstdio>

namespace holdfast::cli {
namespace {

struct kind {
  unsigned long magic;
  const char* name;
  file_system::reach where;
};

// The numbers are the kernel's (statfs(2), linux/magic.h); not all of them are in every version of its headers.
constexpr auto local = file_system::reach::local;
constexpr auto network = file_system::reach::network;
constexpr std::array kinds{
    kind{0xEF53, "ext2/3/4", local},
    kind{0x58465342, "xfs", local},
    kind{0x9123683E, "btrfs", local},
    kind{0x01021994, "tmpfs", local},
    kind{0x858458F6, "ramfs", local},
    kind{0x794C7630, "overlayfs", local},
    kind{0x2FC12FC1, "zfs", local},
    kind{0xF2F52010, "f2fs", local},
    kind{0xCA451A4E, "bcachefs", local},
    kind{0x6969, "NFS", network},
    kind{0xFF534D42, "CIFS", network},
    kind{0xFE534D42, "SMB", network},
    kind{0x517B, "SMB", network},
    kind{0x01021997, "9p", network},
    kind{0x00C36400, "Ceph", network},
    kind{0x0BD00BD0, "Lustre", network},
    kind{0x01161970, "GFS2", network},
    kind{0x7461636F, "OCFS2", network},
    kind{0x5346414F, "AFS", network},
    kind{0x47504653, "GPFS", network},
    kind{0x786F4256, "vboxsf", network},
    // What is behind FUSE cannot be seen; sshfs and virtiofs are, so it counts as the worse.
    kind{0x65735546, "FUSE", network},
};

}  // namespace

file_system file_system_of(const std::string& path) {
  file_system found;
  struct statfs disk{};
  struct statvfs flags{};
  if (::statfs(path.c_str(), &disk) != 0 || ::statvfs(path.c_str(), &flags) != 0) {
    found.name = "a file system that cannot be looked at";
    return found;
  }
  found.read_only = (flags.f_flag & ST_RDONLY) != 0;
  found.free_bytes = static_cast<unsigned long long>(flags.f_bavail) * flags.f_frsize;
  const auto magic = static_cast<unsigned long>(disk.f_type) & 0xFFFFFFFFUL;
  for (const kind& known : kinds) {
    if (known.magic != magic) continue;
    found.name = known.name;
    found.where = known.where;
    return found;
  }
  char number[32];
  std::snprintf(number, sizeof number, "type 0x%lx", magic);
  found.name = number;
  return found;
}

}  // namespace holdfast::cli
