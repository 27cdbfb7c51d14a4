#pragma once

#include "scratch_directory.hpp"

#include <filesystem>
#include <fstream>
#include <string>

namespace holdfast::bench {

/// A peer of a few lines of sh, gone with this object.
class peer_script {
 public:
  explicit peer_script(const std::string& text) : directory_(temporary_parent()) {
    std::ofstream(path()) << "#!/bin/sh\n" << text;
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  }
  std::string path() const { return directory_.path() + "/peer"; }

 private:
  scratch_directory directory_;
};

}  // namespace holdfast::bench
