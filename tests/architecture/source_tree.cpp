#include "source_tree.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace holdfast::architecture {

namespace fs = std::filesystem;

fs::path root() { return HOLDFAST_SOURCE_DIR; }

source_file read(const std::string& path) {
  std::ifstream in(root() / path);
  if (!in) throw std::runtime_error("cannot read " + path);
  source_file file{path, {}};
  for (std::string line; std::getline(in, line);) file.lines.push_back(line);
  return file;
}

std::vector<source_file> files_below(const std::vector<std::string>& folders, const std::vector<std::string>& endings) {
  std::vector<std::string> paths;
  for (const auto& folder : folders) {
    if (fs::is_regular_file(root() / folder)) paths.push_back(folder);
    if (!fs::is_directory(root() / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root() / folder)) {
      const auto path = fs::relative(entry.path(), root()).generic_string();
      const bool wanted =
          std::any_of(endings.begin(), endings.end(), [&](const auto& ending) { return path.ends_with(ending); });
      if (entry.is_regular_file() && wanted) paths.push_back(path);
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<source_file> files;
  for (const auto& path : paths) files.push_back(read(path));
  return files;
}

std::vector<std::string> backends() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(root() / "backends")) {
    // What the SQL stores share is none by itself.
    if (entry.is_directory() && entry.path().filename() != "sql") names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string lines_with(const std::vector<source_file>& files, const std::vector<std::string>& words) {
  std::string found;
  for (const auto& file : files) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const auto& line = file.lines[i];
      const bool hit = std::any_of(words.begin(), words.end(),
                                   [&](const auto& word) { return line.find(word) != std::string::npos; });
      if (hit) found += "  " + file.at(i) + ": " + line + "\n";
    }
  }
  return found;
}

}  // namespace holdfast::architecture
