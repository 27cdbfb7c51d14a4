#include "floor.hpp"

#include <holdfast/uri.hpp>

#include <grpcpp/grpcpp.h>
#include <holdfast_etcd_rpc.grpc.pb.h>

#include <stdexcept>

namespace holdfast::bench {

namespace {

namespace pb = etcdserverpb;

void check(const grpc::Status& status) {
  if (!status.ok()) throw std::runtime_error("etcd floor: " + status.error_message());
}

/// A connection of its own, and a lease that outlives every measurement.
class raw_etcd {
 public:
  explicit raw_etcd(const std::string& server)
      : channel_(dial(server)), kv_(pb::KV::NewStub(channel_)), lease_(pb::Lease::NewStub(channel_)) {
    grpc::ClientContext context;
    pb::LeaseGrantRequest request;
    request.set_ttl(600);
    pb::LeaseGrantResponse reply;
    check(lease_->LeaseGrant(&context, request, &reply));
    lease_id_ = reply.id();
  }
  ~raw_etcd() {
    grpc::ClientContext context;
    pb::LeaseRevokeRequest request;
    request.set_id(lease_id_);
    pb::LeaseRevokeResponse reply;
    lease_->LeaseRevoke(&context, request, &reply);
  }

  std::int64_t lease() const noexcept { return lease_id_; }
  const std::shared_ptr<grpc::Channel>& channel() const noexcept { return channel_; }
  pb::TxnResponse txn(const pb::TxnRequest& request) {
    grpc::ClientContext context;
    pb::TxnResponse reply;
    check(kv_->Txn(&context, request, &reply));
    return reply;
  }

 private:
  static std::shared_ptr<grpc::Channel> dial(const std::string& server) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
  }

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<pb::KV::Stub> kv_;
  std::unique_ptr<pb::Lease::Stub> lease_;
  std::int64_t lease_id_ = 0;
};

pb::TxnRequest creation(const std::string& key, std::int64_t lease) {
  pb::TxnRequest request;
  auto& absent = *request.add_compare();
  absent.set_target(pb::Compare::CREATE);
  absent.set_key(key);
  absent.set_create_revision(0);
  auto& put = *request.add_success()->mutable_request_put();
  put.set_key(key);
  put.set_lease(lease);
  return request;
}

pb::TxnRequest deletion(const std::string& key) {
  pb::TxnRequest request;
  auto& there = *request.add_compare();
  there.set_target(pb::Compare::CREATE);
  there.set_result(pb::Compare::NOT_EQUAL);
  there.set_key(key);
  there.set_create_revision(0);
  request.add_success()->mutable_request_delete_range()->set_key(key);
  return request;
}

class alone final : public contender {
 public:
  alone(const std::string& server, const std::string& lock)
      : etcd_(server), create_(creation("floor:" + lock, etcd_.lease())), delete_(deletion("floor:" + lock)) {}

  std::uint64_t acquire() override {
    const auto said = etcd_.txn(create_);
    if (!said.succeeded()) throw std::runtime_error("etcd floor: the lock is held");
    return static_cast<std::uint64_t>(said.header().revision());
  }
  void release() override {
    if (!etcd_.txn(delete_).succeeded()) throw std::runtime_error("etcd floor: release of a lock that is not held");
  }
  void pairs(std::uint64_t count) override {
    for (; count > 0; --count) {
      acquire();
      release();
    }
  }

 private:
  raw_etcd etcd_;
  const pb::TxnRequest create_;
  const pb::TxnRequest delete_;
};

/// A queue by create revision, and one standing watch, opened before anything is waited for.
class queued final : public contender {
 public:
  queued(const std::string& server, const std::string& lock)
      : etcd_(server),
        prefix_("floor:" + lock + "/"),
        key_(prefix_ + std::to_string(etcd_.lease())),
        create_(creation(key_, etcd_.lease())),
        delete_(deletion(key_)),
        watch_(pb::Watch::NewStub(etcd_.channel())),
        events_(watch_->Watch(&context_)) {
    std::string end = prefix_;
    ++end.back();
    auto& ahead = *create_.add_success()->mutable_request_range();
    ahead.set_key(prefix_);
    ahead.set_range_end(end);
    ahead.set_sort_target(pb::RangeRequest::CREATE);
    ahead.set_sort_order(pb::RangeRequest::DESCEND);
    ahead.set_limit(2);
    ahead.set_keys_only(true);
    pb::WatchRequest request;
    request.mutable_create_request()->set_key(prefix_);
    request.mutable_create_request()->set_range_end(end);
    request.mutable_create_request()->add_filters(pb::WatchCreateRequest::NOPUT);
    pb::WatchResponse created;
    if (!events_->Write(request) || !events_->Read(&created)) throw std::runtime_error("etcd floor: no watch");
  }
  ~queued() override {
    context_.TryCancel();
    events_->Finish();
  }

  std::uint64_t acquire() override {
    const auto said = etcd_.txn(create_);
    const auto& line = said.responses(1).response_range().kvs();
    if (line.size() > 1) wait_for(line.Get(1).key(), said.header().revision());
    return static_cast<std::uint64_t>(said.header().revision());
  }
  void release() override { etcd_.txn(delete_); }
  void pairs(std::uint64_t count) override {
    for (; count > 0; --count) {
      acquire();
      release();
    }
  }

 private:
  void wait_for(const std::string& key, std::int64_t since) {
    for (pb::WatchResponse next; events_->Read(&next);) {
      for (const auto& event : next.events())
        if (event.kv().key() == key && event.kv().mod_revision() > since) return;
    }
    throw std::runtime_error("etcd floor: the watch broke");
  }

  raw_etcd etcd_;
  const std::string prefix_;
  const std::string key_;
  pb::TxnRequest create_;
  const pb::TxnRequest delete_;
  std::unique_ptr<pb::Watch::Stub> watch_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<pb::WatchRequest, pb::WatchResponse>> events_;
};

class etcd_subject final : public subject {
 public:
  explicit etcd_subject(const std::string& url) {
    const auto where = uri::parse(url).value();
    const auto& first = where.hosts.front();
    server_ = first.host + ":" + std::to_string(first.port.value_or(2379));
  }
  std::unique_ptr<contender> enlist(const assignment& what) override {
    if (what.what == workload::processes || what.what == workload::fair)
      return std::make_unique<queued>(server_, what.lock);
    return std::make_unique<alone>(server_, what.lock);
  }

 private:
  std::string server_;
};

class etcd_floor final : public store_floor {
 public:
  std::optional<floor_design> design(workload what) const override {
    switch (what) {
      case workload::uncontended:
        return floor_design{floor_design::crew::same, "Txn create and Txn delete, 1 connection"};
      case workload::many:
      case workload::handover:
        return floor_design{floor_design::crew::one_worker, "Txn create and Txn delete, 1 connection"};
      case workload::processes:
      case workload::fair:
        return floor_design{floor_design::crew::same, "a queue of keys, one standing watch each"};
      default:
        return std::nullopt;
    }
  }
  std::unique_ptr<subject> open(const std::string& url, const std::string&) const override {
    return std::make_unique<etcd_subject>(url);
  }
};

}  // namespace

}  // namespace holdfast::bench

extern "C" __attribute__((visibility("default"))) const holdfast::bench::store_floor* holdfast_floor_etcd() {
  static const holdfast::bench::etcd_floor floor;
  return &floor;
}
