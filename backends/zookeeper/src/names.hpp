#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::zookeeper {

/// A lock's name is the path of a node below the root: `orders/42` is `<root>/orders/42`, where Curator looks for it.
/// What ZooKeeper does not take in a path, and what would be mistaken for something else there, is percent-encoded.
/// `root` is empty or a path without a slash at its end.
std::string path_of(std::string_view root, std::string_view name);
/// The way back. Nothing: the path is not below the root.
std::optional<std::string> name_of(std::string_view root, std::string_view path);

/// The same name as one component, for what is not shared with others.
std::string component_of(std::string_view name);

/// Where our own records are kept, beside the locks: `<root>/_holdfast/...`.
inline constexpr std::string_view own_directory = "_holdfast";
/// Below the very root the server keeps its own.
inline constexpr std::string_view servers_directory = "zookeeper";

}  // namespace holdfast::zookeeper
