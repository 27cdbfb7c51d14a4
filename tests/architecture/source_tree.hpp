#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace holdfast::architecture {

/// One text file of the project.
struct source_file {
  std::string path;  ///< From the project's root, with slashes.
  std::vector<std::string> lines;

  /// `path:line`, as compilers write it.
  std::string at(std::size_t index) const { return path + ":" + std::to_string(index + 1); }
};

std::filesystem::path root();
source_file read(const std::string& path);

/// The files below these folders (or the folders' own names, if they are files) whose names end with one of `endings`.
std::vector<source_file> files_below(const std::vector<std::string>& folders, const std::vector<std::string>& endings);

/// Names of the folders in backends/.
std::vector<std::string> backends();

/// Each line that contains one of `words`, as `path:line: text`; empty is what a rule wants.
std::string lines_with(const std::vector<source_file>& files, const std::vector<std::string>& words);

}  // namespace holdfast::architecture
