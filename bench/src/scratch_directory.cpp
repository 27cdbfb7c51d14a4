#include "scratch_directory.hpp"

#include "children.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace holdfast::bench {

scratch_directory::scratch_directory(const std::string& parent) : path_(parent + "/holdfast-bench-XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr)
    throw measurement_error(exit_failed,
                            "cannot make a directory for the floor in '" + parent + "': " + std::strerror(errno));
}

scratch_directory::~scratch_directory() {
  std::error_code ignored;  // nothing more can be done about it, and the name says whose it is
  std::filesystem::remove_all(path_, ignored);
}

std::string temporary_parent() {
  const char* const set = std::getenv("TMPDIR");
  return set != nullptr && *set == '/' ? set : "/tmp";
}

}  // namespace holdfast::bench
