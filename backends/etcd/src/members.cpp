#include "members.hpp"

#include <arpa/inet.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <array>

namespace holdfast::etcd {

namespace {

std::shared_ptr<grpc::ChannelCredentials> credentials_for(const settings& where) {
  if (!where.tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  if (!where.tls->ca_file.empty()) options.pem_root_certs = contents(where.tls->ca_file);
  if (!where.tls->cert_file.empty()) {
    options.pem_cert_chain = contents(where.tls->cert_file);
    options.pem_private_key = contents(where.tls->key_file);
  }
  return grpc::SslCredentials(options);
}

grpc::ChannelArguments arguments_for(const settings& where) {
  grpc::ChannelArguments arguments;
  // Each client has connections of its own: one that is stuck is nobody else's trouble.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // the engine repeats, and knows what may be repeated
  arguments.SetMaxReceiveMessageSize(-1);
  // The defaults grow to two minutes, in which a server that is back would not be noticed.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);  // in truth how long one attempt may take
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // Servers answer GOAWAY to pings that come more often than every five seconds.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  if (where.tls && !where.tls->server_name.empty()) arguments.SetSslTargetNameOverride(where.tls->server_name);
  return arguments;
}

/// An address needs no resolver, and none of its threads.
std::string target(const std::string& endpoint) {
  const bool six = endpoint.starts_with('[');
  const auto host = six ? endpoint.substr(1, endpoint.find(']') - 1) : endpoint.substr(0, endpoint.rfind(':'));
  std::array<unsigned char, 16> address{};
  if (::inet_pton(six ? AF_INET6 : AF_INET, host.c_str(), address.data()) != 1) return "dns:///" + endpoint;
  return (six ? "ipv6:" : "ipv4:") + endpoint;
}

}  // namespace

member::member(std::string where, const std::shared_ptr<grpc::Channel>& through)
    : address(std::move(where)),
      channel(through),
      kv(etcdserverpb::KV::NewStub(through)),
      watch(etcdserverpb::Watch::NewStub(through)),
      lease(etcdserverpb::Lease::NewStub(through)),
      cluster(etcdserverpb::Cluster::NewStub(through)),
      maintenance(etcdserverpb::Maintenance::NewStub(through)),
      auth(etcdserverpb::Auth::NewStub(through)) {}

members::members(const settings& where) {
  const auto credentials = credentials_for(where);
  for (const auto& endpoint : where.endpoints) {
    all_.push_back(std::make_unique<member>(
        endpoint, grpc::CreateCustomChannel(target(endpoint), credentials, arguments_for(where))));
  }
}

bool members::failed(std::size_t index) noexcept {
  auto seen = current_.load();
  return seen % all_.size() == index && current_.compare_exchange_strong(seen, seen + 1);
}

}  // namespace holdfast::etcd
