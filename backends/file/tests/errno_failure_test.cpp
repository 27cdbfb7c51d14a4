#include "errno_failure.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

namespace holdfast::file {
namespace {

TEST(errno_failure, every_errno_has_one_meaning) {
  const std::pair<int, errc> table[] = {
      {EACCES, errc::rejected},        {EPERM, errc::rejected},     {EROFS, errc::rejected},
      {ENOSPC, errc::rejected},        {EDQUOT, errc::rejected},    {EFBIG, errc::rejected},
      {ELOOP, errc::rejected},         {ENOTDIR, errc::rejected},   {EISDIR, errc::rejected},
      {ENXIO, errc::rejected},         {EINVAL, errc::unsupported}, {ENOSYS, errc::unsupported},
      {EOPNOTSUPP, errc::unsupported}, {ENOLCK, errc::unavailable}, {EIO, errc::unavailable},
      {EMFILE, errc::unavailable},     {ENFILE, errc::unavailable}, {ESTALE, errc::unavailable},
      {ENOENT, errc::unavailable},     {ENOMEM, errc::unavailable}, {ENAMETOOLONG, errc::invalid_argument},
  };
  for (const auto& [error, code] : table) EXPECT_EQ(from_errno(error, "x").code, make_error_code(code)) << error;
}

TEST(errno_failure, the_text_says_what_failed_why_and_the_number) {
  EXPECT_EQ(from_errno(ENOSPC, "writing the lock file").detail,
            "writing the lock file: No space left on device (errno 28)");
}

}  // namespace
}  // namespace holdfast::file
