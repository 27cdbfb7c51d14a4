#pragma once

#include "source_tree.hpp"

#include <string>
#include <vector>

namespace holdfast::architecture {

/// A fenced block: ```language ... ```
struct code_block {
  std::string language;
  std::vector<std::string> lines;
  std::size_t line = 0;    ///< Of the opening fence, from 0.
  std::string provenance;  ///< What a comment right above says: `<!-- examples/hello.cpp [region] -->`.
};

std::vector<code_block> code_blocks(const source_file& page);
/// The `#` marks of every heading, in order.
std::vector<std::string> heading_levels(const source_file& page);
/// Targets of links that are not addresses, without their anchors.
std::vector<std::string> local_links(const source_file& page);

/// What `examples/hello.cpp` or `examples/hello.cpp [region]` names, without the indentation all its lines share.
std::vector<std::string> snippet(const std::string& provenance);

}  // namespace holdfast::architecture
