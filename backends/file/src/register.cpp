#include "directory.hpp"
#include "file_backend.hpp"

#include <holdfast/backend.hpp>

namespace {

using namespace holdfast;

result<std::unique_ptr<spi::backend>> make(uri where, spi::runtime& engine) {
  if (!where.user.empty() || !where.password.empty() || !where.hosts.empty()) {
    return {errc::invalid_argument, "file: has no host; write file:///absolute/directory"};
  }
  if (auto left = where.expect_no_more_options("none"); !left) return left.error();
  std::string path = where.path;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (path.size() < 2 || path.front() != '/' || path.find('\0') != std::string::npos) {
    return {errc::invalid_argument,
            "file: '" + path + "' is not an absolute directory; write file:///absolute/directory"};
  }
  auto directory = file::directory::open(path, engine.options().connect_timeout);
  if (!directory) return directory.error();
  return std::unique_ptr<spi::backend>(std::make_unique<file::file_backend>(std::move(*directory), engine));
}

[[maybe_unused]] const bool registered = [] {
  spi::register_backend({"file", make, file::file_backend::can,
                         "kernel file locks of one machine, or of a network file system with POSIX locks; no queue"});
  return true;
}();

}  // namespace

/// Asked for by the linker so that a static archive brings the registration along.
extern "C" HOLDFAST_EXPORT void holdfast_backend_file() {}
