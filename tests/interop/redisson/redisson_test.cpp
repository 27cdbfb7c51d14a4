#include "redisson_test.hpp"

#include <algorithm>
#include <fstream>
#include <utility>

namespace holdfast::testing {

std::vector<std::string> redisson_versions() { return {HOLDFAST_REDISSON_VERSIONS}; }

std::string version_label(const std::string& version) {
  std::string label = "redisson_" + version;
  std::replace(label.begin(), label.end(), '.', '_');
  return label;
}

bool has_nonreentrant(const std::string& version) {
  const int major = std::stoi(version);
  const int minor = std::stoi(version.substr(version.find('.') + 1));
  return std::pair(major, minor) >= std::pair(4, 4);
}

void redisson_test::SetUp() {
  std::ifstream skipped(HOLDFAST_PEERS "/skipped");
  if (std::string reason; std::getline(skipped, reason)) GTEST_SKIP() << reason;
}

void redisson_test::TearDown() {
  if (!IsSkipped()) contest_.expect_nothing_left(documented);
}

client redisson_test::ours(std::chrono::milliseconds ttl) const { return connect(url(), {.ttl = ttl}); }

std::shared_ptr<foreign_peer> redisson_test::start_java(std::chrono::milliseconds ttl) const {
  const std::string folder = HOLDFAST_PEERS "/" + version_;
  // Quick to start rather than quick in the long run.
  return std::make_shared<foreign_peer>(std::vector<std::string>{
      "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx96m", "-cp",
      folder + "/classes:" + folder + "/jars/*", "Peer", "redis://127.0.0.1:" + std::to_string(server().port()),
      std::to_string(ttl.count()), std::to_string(fair_wait.count())});
}

std::shared_ptr<foreign_peer> redisson_test::java() {
  if (!java_) java_ = start_java();
  return java_;
}

contender redisson_test::our_contender(const shared_kind& kind, std::chrono::milliseconds ttl) const {
  return {holder_process::connected(url(), ttl),
          {.acquire = "acquire " + kind.ours + " my " + kind.options, .release = "release"}};
}

contender redisson_test::their_contender(const shared_kind& kind, const std::string& thread) {
  return their_contender(java(), kind, thread);
}

contender redisson_test::their_contender(std::shared_ptr<foreign_peer> peer, const shared_kind& kind,
                                         const std::string& thread) {
  // Its permits are not renewed: one that is to end must say so.
  const std::string ttl = kind.theirs == "permits" ? " ttl=1500" : "";
  return {std::move(peer),
          thread,
          {.acquire = "acquire " + kind.theirs + " my" + ttl, .release = "release " + kind.theirs + " my"}};
}

}  // namespace holdfast::testing
