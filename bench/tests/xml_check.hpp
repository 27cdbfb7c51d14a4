#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::bench {

/// What is wrong with a document of elements, attributes in double quotes and text; empty when it is well-formed.
inline std::string xml_fault(std::string_view text) {
  std::vector<std::string> open;
  const auto fault = [&](const std::string& why, std::size_t at) {
    return why + " at byte " + std::to_string(at) + ": " + std::string(text.substr(at, 40));
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto less = text.find('<', at);
    const auto words = text.substr(at, less == text.npos ? text.npos : less - at);
    if (words.find('>') != words.npos) return fault("a stray '>'", at);
    for (auto amp = words.find('&'); amp != words.npos; amp = words.find('&', amp + 1)) {
      const auto end = words.find(';', amp);
      const auto entity = end == words.npos ? std::string_view() : words.substr(amp + 1, end - amp - 1);
      if (entity != "amp" && entity != "lt" && entity != "gt" && entity != "quot") return fault("a bare '&'", at + amp);
    }
    if (less == text.npos) break;
    const auto more = text.find('>', less);
    if (more == text.npos) return fault("an unclosed tag", less);
    auto tag = text.substr(less + 1, more - less - 1);
    at = more + 1;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return fault("an unexpected end tag", less);
      open.pop_back();
      continue;
    }
    const bool empty = tag.ends_with('/');
    if (empty) tag.remove_suffix(1);
    const auto name = tag.substr(0, tag.find(' '));
    for (auto rest = tag.substr(name.size()); !rest.empty();) {
      const auto equals = rest.find("=\"");
      const auto close = equals == rest.npos ? rest.npos : rest.find('"', equals + 2);
      if (!rest.starts_with(' ') || close == rest.npos) return fault("a malformed attribute", less);
      rest.remove_prefix(close + 1);
    }
    if (!empty) open.emplace_back(name);
  }
  return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

}  // namespace holdfast::bench
