#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/redis_sentinel.hpp>

#include <algorithm>
#include <map>
#include <stdexcept>

namespace holdfast::testing {

namespace {

std::vector<std::string> replica_of(std::uint16_t master, std::vector<std::string> words) {
  words.insert(words.end(), {"--replicaof", "127.0.0.1 " + std::to_string(master), "--repl-diskless-sync", "yes",
                             "--repl-diskless-sync-delay", "0"});
  return words;
}

/// A field of `SENTINEL MASTER`, which is a list of fields and their values.
std::string field_of(const redis_server& sentinel, const std::string& field) {
  const auto lines = sentinel.lines({"SENTINEL", "MASTER", redis_sentinel::name});
  const auto at = std::find(lines.begin(), lines.end(), field);
  return at == lines.end() || lines.end() - at < 3 ? "" : at[2];
}

}  // namespace

redis_sentinel::redis_sentinel(extras more) : more_(std::move(more)) {
  servers_.push_back(std::make_unique<redis_server>(more_.of_servers));
  const auto first = servers_.front()->port();
  while (servers_.size() < 3) servers_.push_back(std::make_unique<redis_server>(replica_of(first, more_.of_servers)));
  const std::string whole = std::string(name);
  std::string configuration = "sentinel monitor " + whole + " 127.0.0.1 " + std::to_string(first) + " 2\n" +
                              "sentinel down-after-milliseconds " + whole + " 500\n" + "sentinel failover-timeout " +
                              whole + " 3000\n";
  for (const auto& one : more_.of_sentinels) configuration += one + "\n";
  while (sentinels_.size() < 3)
    sentinels_.push_back(std::make_unique<redis_server>(std::vector<std::string>{"--sentinel"}, configuration));
  if (!eventually([this] { return ready(); })) throw std::runtime_error("the sentinels do not find each other");
}

std::string redis_sentinel::url(unsigned database) const {
  std::string hosts;
  for (const auto& one : sentinels_)
    hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(one->port());
  return "redis+sentinel://" + hosts + "/" + name + "/" + std::to_string(database) + more_.scheme_options;
}

std::string redis_sentinel::url_of(std::size_t sentinel) const {
  return "redis+sentinel://127.0.0.1:" + std::to_string(sentinels_.at(sentinel)->port()) + "/" + name +
         more_.scheme_options;
}

std::size_t redis_sentinel::master() const {
  std::map<std::string, int> votes;
  for (const auto& one : sentinels_) {
    const auto lines =
        one->running() ? one->lines({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name}) : std::vector<std::string>();
    if (lines.size() == 5) ++votes[lines[4]];
  }
  for (std::size_t i = 0; i < servers_.size(); ++i)
    if (votes[std::to_string(servers_[i]->port())] >= 2) return i;
  return servers_.size();
}

bool redis_sentinel::replaced(std::size_t before) const {
  return eventually([&] {
    const std::size_t now = master();
    if (now == before || now == servers_.size()) return false;
    const auto role = servers_[now]->lines({"ROLE"});
    return role.size() > 2 && role[2] == "master";
  });
}

bool redis_sentinel::ready() const {
  return std::all_of(sentinels_.begin(), sentinels_.end(), [](const auto& one) {
    return field_of(*one, "num-other-sentinels") == "2" && field_of(*one, "num-slaves") == "2";
  });
}

}  // namespace holdfast::testing
