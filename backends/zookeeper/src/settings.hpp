#pragma once

#include <holdfast/result.hpp>
#include <holdfast/uri.hpp>

#include <cstdint>
#include <string>

namespace holdfast::zookeeper {

/// Who may do what with the nodes we make.
enum class access_list : std::uint8_t {
  open,          ///< Everybody everything, as Curator's.
  creator,       ///< Our user everything, others nothing: all clients of a lock share a user.
  creator_read,  ///< The same, and everybody may read.
};

/// What the nodes above a lock's are.
enum class parent_nodes : std::uint8_t {
  containers,  ///< The server removes them when they are empty, as Curator's.
  persistent,  ///< They stay. For servers before 3.5.1.
};

/// What a URL says.
struct settings {
  std::string servers;  ///< h1:p1,h2:p2, as the client library wants it.
  std::string root;     ///< The chroot: empty, or a path without a slash at its end.
  std::string user;
  std::string password;
  access_list acl = access_list::open;
  parent_nodes parents = parent_nodes::containers;

  /// zk://[user:password@]h1[:port],h2[:port][/chroot]; options acl=, parents=, password-file=.
  /// errc::invalid_argument names the part that is wrong.
  static result<settings> from(uri where);

  /// As errors and logs name it; never the password.
  std::string shown() const { return "zk://" + servers + root; }
};

}  // namespace holdfast::zookeeper
