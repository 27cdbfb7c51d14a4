#include "markdown.hpp"

#include <algorithm>
#include <regex>

namespace holdfast::architecture {

namespace {

std::vector<std::string> without_indentation(std::vector<std::string> lines) {
  std::size_t shared = std::string::npos;
  for (const auto& line : lines) {
    if (!line.empty()) shared = std::min(shared, line.find_first_not_of(' '));
  }
  for (auto& line : lines) line.erase(0, std::min(shared, line.size()));
  return lines;
}

}  // namespace

std::vector<code_block> code_blocks(const source_file& page) {
  const std::regex comment(R"(^<!-- (\S+( \[\w+\])?) -->$)");
  std::vector<code_block> blocks;
  bool inside = false;
  for (std::size_t i = 0; i < page.lines.size(); ++i) {
    const auto& line = page.lines[i];
    if (!line.starts_with("```")) {
      if (inside) blocks.back().lines.push_back(line);
      continue;
    }
    inside = !inside;
    if (!inside) continue;
    blocks.push_back({line.substr(3), {}, i, {}});
    std::smatch match;
    if (i > 0 && std::regex_match(page.lines[i - 1], match, comment)) blocks.back().provenance = match[1];
  }
  return blocks;
}

std::vector<std::string> heading_levels(const source_file& page) {
  std::vector<std::string> levels;
  bool inside = false;
  for (const auto& line : page.lines) {
    if (line.starts_with("```")) inside = !inside;
    if (!inside && line.starts_with("#")) levels.push_back(line.substr(0, line.find_first_not_of('#')));
  }
  return levels;
}

std::vector<std::string> local_links(const source_file& page) {
  const std::regex link(R"(\]\(([^)#\s]+)(#[^)]*)?\))");
  std::vector<std::string> targets;
  for (const auto& line : page.lines) {
    for (std::sregex_iterator match(line.begin(), line.end(), link), end; match != end; ++match) {
      const std::string target = (*match)[1];
      if (target.find("://") == std::string::npos && !target.starts_with("mailto:")) targets.push_back(target);
    }
  }
  return targets;
}

std::vector<std::string> snippet(const std::string& provenance) {
  const auto space = provenance.find(' ');
  const auto file = read(provenance.substr(0, space));
  if (space == std::string::npos) return file.lines;
  const std::string mark = "// " + provenance.substr(space + 1);
  std::vector<std::string> lines;
  bool inside = false;
  for (const auto& line : file.lines) {
    if (line.ends_with(mark)) {
      inside = !inside;
    } else if (inside) {
      lines.push_back(line);
    }
  }
  return without_indentation(lines);
}

}  // namespace holdfast::architecture
