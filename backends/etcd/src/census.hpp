#pragma once

#include "keys.hpp"
#include "record.hpp"

#include <holdfast_etcd_kv.pb.h>

#include <map>
#include <string>
#include <vector>

namespace holdfast::etcd {

/// Somebody in a line, or with permits.
struct present {
  std::vector<std::string> keys;  ///< A writer has two.
  std::int64_t created = 0;
  std::int64_t lease = 0;
  bool shared = false;
  record who;  ///< Of foreign clients: what can be told.
};

/// One lock as its keys tell of it.
struct lock_state {
  spi::kind kind = spi::kind::mutex;
  std::vector<present> holders;  ///< In the order of their coming.
  std::vector<present> waiters;
};

/// Makes locks out of keys. What is none is left out.
class census {
 public:
  explicit census(const keys& names) : names_(names) {}

  void add(const mvccpb::KeyValue& kv);
  /// By name.
  std::map<std::string, lock_state> finish();

 private:
  struct line {
    spi::kind kind = spi::kind::mutex;
    std::vector<present> all;
  };
  void add_line(const keys::place& where, const mvccpb::KeyValue& kv);
  void add_other(const keys::other_place& where, const mvccpb::KeyValue& kv);

  const keys& names_;
  std::map<std::string, line> lines_;
  std::map<std::string, lock_state> found_;
};

}  // namespace holdfast::etcd
