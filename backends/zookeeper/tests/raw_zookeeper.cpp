#include "raw_zookeeper.hpp"

#include <holdfast/testing/eventually.hpp>

#ifndef THREADED
#define THREADED  // the calls that wait
#endif
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace holdfast::testing {

namespace {

void ignore_event(zhandle_t*, int, int, const char*, void*) {}
void ignore_line(const char*) {}

std::string sequence(const std::string& name) { return name.size() < 10 ? name : name.substr(name.size() - 10); }

}  // namespace

raw_zookeeper::raw_zookeeper(const std::string& address)
    : handle_(zookeeper_init2(address.c_str(), ignore_event, 30000, nullptr, nullptr, 0, ignore_line)) {
  if (handle_ == nullptr || !eventually([&] { return zoo_state(handle_) == ZOO_CONNECTED_STATE; }))
    throw std::runtime_error("no connection to " + address);
}

raw_zookeeper::~raw_zookeeper() { zookeeper_close(handle_); }

std::vector<std::string> raw_zookeeper::children(const std::string& path) const {
  String_vector found{0, nullptr};
  std::vector<std::string> all;
  if (zoo_get_children(handle_, path.c_str(), 0, &found) != ZOK) return all;
  all.assign(found.data, found.data + found.count);
  deallocate_String_vector(&found);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return sequence(a) < sequence(b); });
  return all;
}

raw_zookeeper::node raw_zookeeper::get(const std::string& path) const {
  std::array<char, 4096> buffer;
  int length = buffer.size();
  Stat stat{};
  node n;
  n.there = zoo_get(handle_, path.c_str(), 0, buffer.data(), &length, &stat) == ZOK;
  if (n.there && length > 0) n.data.assign(buffer.data(), static_cast<std::size_t>(length));
  n.created = stat.czxid;
  n.owner = stat.ephemeralOwner;
  return n;
}

std::string raw_zookeeper::create(const std::string& path, const std::string& data, kind k) const {
  std::array<char, 1024> made{};
  const int flags = k == kind::persistent  ? ZOO_PERSISTENT
                    : k == kind::ephemeral ? ZOO_EPHEMERAL
                                           : ZOO_EPHEMERAL_SEQUENTIAL;
  zoo_create(handle_, path.c_str(), data.data(), static_cast<int>(data.size()), &ZOO_OPEN_ACL_UNSAFE, flags,
             made.data(), made.size());
  return made.data();
}

void raw_zookeeper::set(const std::string& path, const std::string& data) const {
  zoo_set(handle_, path.c_str(), data.data(), static_cast<int>(data.size()), -1);
}

bool raw_zookeeper::remove(const std::string& path) const { return zoo_delete(handle_, path.c_str(), -1) == ZOK; }

}  // namespace holdfast::testing
