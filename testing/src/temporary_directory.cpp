#include <holdfast/testing/temporary_directory.hpp>

#include <stdlib.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace holdfast::testing {

temporary_directory::temporary_directory() : temporary_directory(std::filesystem::temp_directory_path()) {}

temporary_directory::temporary_directory(const std::filesystem::path& parent) {
  std::string pattern = (parent / "holdfast-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "mkdtemp " + pattern);
  }
  path_ = pattern;
}

temporary_directory::~temporary_directory() {
  std::error_code ignored;  // A test may have removed it already: that is what it was for.
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace holdfast::testing
