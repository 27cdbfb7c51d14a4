#pragma once

#include <string>
#include <vector>

struct _zhandle;

namespace holdfast::testing {

/// A plain client beside ours, to see what is in the store and to put there what others would.
///
/// Thread safety: one thread at a time.
class raw_zookeeper {
 public:
  /// `address`: host:port. Throws std::runtime_error if it cannot connect.
  explicit raw_zookeeper(const std::string& address);
  raw_zookeeper(const raw_zookeeper&) = delete;
  raw_zookeeper& operator=(const raw_zookeeper&) = delete;
  ~raw_zookeeper();

  enum class kind { persistent, ephemeral, ephemeral_sequential };
  struct node {
    bool there = false;
    std::string data;
    long long created = 0;  ///< czxid
    long long owner = 0;
  };

  std::vector<std::string> children(const std::string& path) const;  ///< Sorted by what follows the last dash.
  node get(const std::string& path) const;
  std::string create(const std::string& path, const std::string& data = {}, kind k = kind::persistent) const;
  void set(const std::string& path, const std::string& data) const;
  bool remove(const std::string& path) const;

 private:
  _zhandle* handle_;
};

}  // namespace holdfast::testing
