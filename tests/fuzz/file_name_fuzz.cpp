// Any bytes as a lock's name and as a file's: the two translations undo each other, and no file escapes its directory.
#include "check.hpp"

#include "file_name.hpp"

#include <string>

using holdfast::fuzz::check;
namespace file = holdfast::file;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  const auto text = holdfast::fuzz::text_of(bytes, size);
  if (size == 0) return 0;

  const std::string made = file::to_file_name(text);
  check(!made.empty() && made.size() <= 255, "a file system takes the name");
  check(made.find('/') == std::string::npos && made.find('\0') == std::string::npos, "it is one component of a path");
  check(!made.starts_with('.'), "it is not hidden, nor a way up");
  if (file::is_cut(made)) {
    check(!file::to_lock_name(made), "a cut name is not taken for a whole one");
  } else {
    check(file::to_lock_name(made) == text, "a name comes back as it went");
  }

  // The other way round: what a stray file is called.
  if (const auto lock = file::to_lock_name(text)) check(file::to_file_name(*lock) == text, "no lock has two files");
  return 0;
}
