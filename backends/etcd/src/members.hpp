#pragma once

#include "settings.hpp"

#include <holdfast_etcd_rpc.grpc.pb.h>

#include <grpcpp/channel.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::etcd {

/// A member of the cluster, and how to call it.
struct member {
  explicit member(std::string where, const std::shared_ptr<grpc::Channel>& through);

  const std::string address;
  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<etcdserverpb::KV::Stub> kv;
  const std::unique_ptr<etcdserverpb::Watch::Stub> watch;
  const std::unique_ptr<etcdserverpb::Lease::Stub> lease;
  const std::unique_ptr<etcdserverpb::Cluster::Stub> cluster;
  const std::unique_ptr<etcdserverpb::Maintenance::Stub> maintenance;
  const std::unique_ptr<etcdserverpb::Auth::Stub> auth;
};

/// The members a URL names. One is asked until it fails; then the next.
///
/// Thread safety: safe.
class members {
 public:
  explicit members(const settings& where);

  std::size_t size() const noexcept { return all_.size(); }
  const member& at(std::size_t index) const { return *all_[index]; }
  std::size_t current() const noexcept { return current_ % all_.size(); }
  /// It did not answer: whoever asks next asks another. False: somebody has seen to that already.
  bool failed(std::size_t index) noexcept;

 private:
  std::vector<std::unique_ptr<member>> all_;
  std::atomic<std::size_t> current_{0};
};

}  // namespace holdfast::etcd
