#pragma once

#include "keys.hpp"

#include <holdfast_etcd_rpc.pb.h>

namespace holdfast::etcd {

/// A transaction as it is built: conditions, then what to do if they hold and if not.
class script {
 public:
  etcdserverpb::TxnRequest request;

  script& absent(const std::string& key) { return created(key, 0); }
  script& created(const std::string& key, std::int64_t revision) {
    auto& c = compare(key, etcdserverpb::Compare::CREATE);
    c.set_create_revision(revision);
    return *this;
  }
  script& modified(const std::string& key, std::int64_t revision) {
    auto& c = compare(key, etcdserverpb::Compare::MOD);
    c.set_mod_revision(revision);
    return *this;
  }
  script& holds(const std::string& key, const std::string& value) {
    auto& c = compare(key, etcdserverpb::Compare::VALUE);
    c.set_value(value);
    return *this;
  }
  /// Its value, as bytes, is greater. Never true of a key that is not there.
  script& exceeds(const std::string& key, const std::string& value) {
    auto& c = compare(key, etcdserverpb::Compare::VALUE);
    c.set_result(etcdserverpb::Compare::GREATER);
    c.set_value(value);
    return *this;
  }
  /// There is nothing in the range.
  script& none(const key_range& where) {
    auto& c = compare(where.first, etcdserverpb::Compare::CREATE);
    c.set_range_end(where.end);
    c.set_create_revision(0);
    return *this;
  }
  /// Nothing in the range is younger. (What is not there is as old as can be.)
  script& none_since(const key_range& where, std::int64_t revision) {
    auto& c = compare(where.first, etcdserverpb::Compare::CREATE);
    c.set_range_end(where.end);
    c.set_result(etcdserverpb::Compare::LESS);
    c.set_create_revision(revision + 1);
    return *this;
  }

  script& put(const std::string& key, const std::string& value, std::int64_t lease = 0) {
    auto& p = *request.add_success()->mutable_request_put();
    p.set_key(key);
    p.set_value(value);
    p.set_lease(lease);
    return *this;
  }
  script& remove(const std::string& key) {
    request.add_success()->mutable_request_delete_range()->set_key(key);
    return *this;
  }
  script& read(const std::string& key) { return then(range(key)); }
  script& then(etcdserverpb::RangeRequest what) {
    *request.add_success()->mutable_request_range() = std::move(what);
    return *this;
  }
  script& otherwise(etcdserverpb::RangeRequest what) {
    *request.add_failure()->mutable_request_range() = std::move(what);
    return *this;
  }

  script& otherwise_put(const std::string& key, const std::string& value) {
    auto& p = *request.add_failure()->mutable_request_put();
    p.set_key(key);
    p.set_value(value);
    return *this;
  }

  static etcdserverpb::RangeRequest range(const std::string& key) {
    etcdserverpb::RangeRequest r;
    r.set_key(key);
    return r;
  }
  enum class order : std::uint8_t { oldest_first, youngest_first };
  static etcdserverpb::RangeRequest range(const key_range& where, order by, std::int64_t limit = 0) {
    etcdserverpb::RangeRequest r;
    r.set_key(where.first);
    r.set_range_end(where.end);
    r.set_limit(limit);
    r.set_sort_target(etcdserverpb::RangeRequest::CREATE);
    r.set_sort_order(by == order::oldest_first ? etcdserverpb::RangeRequest::ASCEND
                                               : etcdserverpb::RangeRequest::DESCEND);
    return r;
  }

 private:
  etcdserverpb::Compare& compare(const std::string& key, etcdserverpb::Compare::CompareTarget what) {
    auto& c = *request.add_compare();
    c.set_key(key);
    c.set_target(what);
    return c;
  }
};

}  // namespace holdfast::etcd
