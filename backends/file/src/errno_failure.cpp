#include "errno_failure.hpp"

#include <cerrno>
#include <cstring>

namespace holdfast::file {
namespace {

errc meaning(int error) noexcept {
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ELOOP:
    case ENOTDIR:
    case EISDIR:
    case ENXIO:
      return errc::rejected;
    case EINVAL:
    case ENOSYS:
    case EOPNOTSUPP:
      return errc::unsupported;
    case ENAMETOOLONG:
      return errc::invalid_argument;
    default:
      // Out of descriptors, memory or lock table, or a file server that is away: it may pass.
      return errc::unavailable;
  }
}

}  // namespace

failure from_errno(int error, const std::string& what) {
  char text[128] = "";
  // The GNU form: it returns the words, in `text` or elsewhere.
  const char* words = ::strerror_r(error, text, sizeof text);
  return {meaning(error), what + ": " + words + " (errno " + std::to_string(error) + ")"};
}

}  // namespace holdfast::file
