#include "doctor.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace holdfast::redis {

using namespace std::chrono_literals;

namespace {

using level = finding::level;

/// The findings so far, and what they are taken from.
class report {
 public:
  report(const symptoms& seen, const settings& where) : seen_(seen), where_(where) {}

  std::vector<finding> take() && { return std::move(found_); }

  void version();
  void role();
  void memory();
  void persistence();
  void replicas();
  void cluster();
  void clock();
  void rights();
  void connections();
  void secrecy();

 private:
  void add(level how, std::string text) { found_.push_back({how, std::move(text)}); }
  std::string_view info(std::string_view name) const { return look_up(*seen_.info, name); }
  std::string_view config(std::string_view name) const { return look_up(seen_.config, name); }
  std::optional<std::int64_t> number(std::string_view text) const;
  void cannot_tell(std::string_view what, std::string_view command) {
    add(level::warning, "cannot tell " + std::string(what) + ": the user may not call " + std::string(command) +
                            "; allow it, or ask as one who may");
  }

  static std::string_view look_up(const symptoms::table& in, std::string_view name) {
    const auto found = in.find(name);
    return found == in.end() ? std::string_view() : std::string_view(found->second);
  }

  const symptoms& seen_;
  const settings& where_;
  std::vector<finding> found_;
};

std::optional<std::int64_t> report::number(std::string_view text) const {
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || text.empty()) return std::nullopt;
  return value;
}

void report::version() {
  const bool valkey = !info("valkey_version").empty();
  const std::string text(info(valkey ? "valkey_version" : "redis_version"));
  const std::string named = (valkey ? "Valkey " : "Redis ") + text;
  if (!valkey && number(text).value_or(0) < 6) {
    add(level::danger, named + " is older than 6.0: it lacks commands that locks need, and acquiring fails; update it");
  } else {
    add(level::fact, named);
  }
}

void report::role() {
  if (info("role") != "slave") return;
  add(level::danger, "the server is a replica of " + std::string(info("master_host")) + ":" +
                         std::string(info("master_port")) +
                         ": it refuses locks (READONLY), or loses them if it is writable; connect to its master");
}

void report::memory() {
  const auto limit = number(info("maxmemory")).value_or(0);
  const std::string policy(info("maxmemory_policy"));
  if (policy != "noeviction") {
    const std::string remedy = "; set maxmemory-policy noeviction";
    if (limit > 0)
      add(level::danger, "maxmemory-policy " + policy +
                             " evicts locks when memory is short (each has a ttl), and lets a second holder in" +
                             remedy);
    else
      add(level::warning, "maxmemory-policy " + policy +
                              " will evict locks as soon as there is a maxmemory; now there is none" + remedy);
    return;
  }
  const auto used = number(info("used_memory")).value_or(0);
  if (limit > 0 && used >= limit / 10 * 9) {
    add(level::warning, "memory is nearly used up (" + std::to_string(used) + " of " + std::to_string(limit) +
                            " bytes): locks will be refused (OOM); raise maxmemory or make room");
  } else {
    add(level::fact, "maxmemory-policy noeviction: locks are refused rather than forgotten when memory is short");
  }
}

void report::persistence() {
  const std::string remedy =
      "; tokens go on above, so a fence catches who is locked out; appendonly yes with "
      "appendfsync always keeps every lock";
  if (info("aof_last_write_status") == "err" || info("rdb_last_bgsave_status") == "err") {
    add(level::danger,
        "the server cannot write to its disk, and may refuse locks (MISCONF); look at its log and its free space");
  }
  if (info("aof_enabled") == "1") {
    const std::string sync(config("appendfsync"));
    if (sync == "always") return add(level::fact, "appendfsync always: locks survive a restart of the server");
    if (sync.empty()) return cannot_tell("what a restart loses (appendfsync)", "CONFIG GET");
    return add(level::warning, "appendfsync " + sync + ": a server that crashes may forget the locks of the last " +
                                   (sync == "no" ? "half minute" : "second or two") + remedy);
  }
  if (!seen_.config.contains("save")) return cannot_tell("what a restart loses (save)", "CONFIG GET");
  if (config("save").empty())
    return add(level::warning, "nothing is kept on disk: a server that restarts has forgotten every lock" + remedy);
  add(level::warning,
      "only snapshots are kept on disk: a server that crashes has forgotten the locks since the last "
      "one, and remembers some that were released" +
          remedy);
}

void report::replicas() {
  if (info("role") == "slave") return;
  const auto there = number(info("connected_slaves")).value_or(0);
  const auto good = number(info("min_slaves_good_slaves"));
  const auto wanted = number(config("min-replicas-to-write"));
  if (wanted && good && *good < *wanted) {
    add(level::danger, "min-replicas-to-write is " + std::to_string(*wanted) + ", but " + std::to_string(*good) +
                           " are there: every lock is refused (NOREPLICAS); bring the replicas back");
  }
  if (where_.replicas > there) {
    add(level::danger, "the URL asks for replicas=" + std::to_string(where_.replicas) + ", but there are " +
                           std::to_string(there) + ": every acquire fails; bring them back or ask for fewer");
  }
  if (there == 0) return add(level::fact, "no replicas: there is nothing to fail over to");
  const std::string many = std::to_string(there) + (there == 1 ? " replica" : " replicas");
  if (where_.replicas > 0) {
    add(level::fact, many + "; a grant counts once " + std::to_string(where_.replicas) + " of them have it");
  } else {
    add(level::warning, many +
                            ", written to after the answer: a failover may lose locks granted just before, and lets "
                            "a second holder in; add ?replicas=N to the URL");
  }
  if (!wanted) return cannot_tell("whether it stops when cut off (min-replicas-to-write)", "CONFIG GET");
  if (*wanted == 0)
    add(level::warning,
        "min-replicas-to-write is 0: a master cut off from its replicas goes on granting locks while "
        "one of them takes over; set it to 1 or more");
}

void report::cluster() {
  if (info("cluster_enabled") != "1") return;
  if (!seen_.cluster) return cannot_tell("how the cluster is", "CLUSTER INFO");
  const auto state = look_up(*seen_.cluster, "cluster_state");
  const auto covered = number(look_up(*seen_.cluster, "cluster_slots_ok")).value_or(0);
  if (covered < 16384)
    add(level::danger, std::to_string(16384 - covered) +
                           " of 16384 slots of the cluster are not served: names in them cannot be locked; bring their "
                           "masters back or assign the slots (CLUSTER ADDSLOTS, redis-cli --cluster fix)");
  if (state != "ok")
    add(level::danger, "cluster_state is " + std::string(state) + ": the server refuses locks (CLUSTERDOWN)");
  else if (covered == 16384)
    add(level::fact, "the cluster is whole: 16384 slots are served");
}

void report::clock() {
  if (!seen_.ahead) return cannot_tell("whether its clock agrees with ours", "TIME");
  const auto off = std::chrono::duration_cast<std::chrono::milliseconds>(*seen_.ahead);
  if (std::abs(off.count()) <= 1000) return add(level::fact, "its clock agrees with ours within a second");
  add(level::warning, "its clock is " + std::to_string(std::abs(off.count())) + " ms " +
                          (off > 0ms ? "ahead of" : "behind") +
                          " ours: Redisson's fair queues and expirable permits, which count by the clocks of their "
                          "clients, end early or late; run NTP on both");
}

void report::rights() {
  const std::string remedy = "; docs/stores/redis.md has the rights it needs";
  if (seen_.untried)
    add(level::danger, "the user may not run scripts, or not on keys that begin with holdfast_: no lock can be had (" +
                           *seen_.untried + ")" + remedy);
  if (!seen_.forbidden.empty()) {
    std::string all;
    for (const auto& one : seen_.forbidden) all += (all.empty() ? "" : ", ") + one;
    add(level::danger,
        "the user lacks rights: " + all + ": locks or waiting for them will be refused (NOPERM)" + remedy);
  } else if (seen_.tried) {
    add(level::fact, "the user has every right that locks need");
  }
  if (seen_.patterns_forbidden && where_.layout == key_layout::redisson)
    add(level::warning,
        "the user may not subscribe to patterns: waiting with ordering::fifo is refused; give it "
        "allchannels if you need that");
}

void report::connections() {
  const auto most = number(info("maxclients")).value_or(number(config("maxclients")).value_or(0));
  const auto now = number(info("connected_clients")).value_or(0);
  if (most > 0 && now * 10 >= most * 9)
    add(level::warning, std::to_string(now) + " of " + std::to_string(most) +
                            " connections are taken: processes that come later get no locks (each needs two); raise "
                            "maxclients");
  if (seen_.config.empty()) return cannot_tell("how it treats idle connections (timeout, tcp-keepalive)", "CONFIG GET");
  if (number(config("timeout")).value_or(0) > 0)
    add(level::warning, "timeout " + std::string(config("timeout")) +
                            ": idle connections are closed, and the next lock pays for a new one; set it to 0");
  if (number(config("tcp-keepalive")) == 0)
    add(level::warning,
        "tcp-keepalive 0: a client whose machine vanished counts as listening, and may be handed a lock "
        "that then waits for its ttl; set it to 60");
  if (const auto databases = config("databases"); !databases.empty())
    add(level::fact, "database " + std::to_string(where_.database) + " of " + std::string(databases) +
                         ": locks exclude each other within it only");
}

void report::secrecy() {
  if (where_.tls) return;
  const bool local =
      !where_.socket.empty() || where_.host == "localhost" || where_.host == "::1" || where_.host.starts_with("127.");
  if (local || where_.password.empty()) return;
  add(level::warning, "the password goes to " + where_.host +
                          " in the clear: who can listen on the way can end and forge locks; use TLS (rediss:)");
}

}  // namespace

symptoms::table lines_of(std::string_view text) {
  symptoms::table all;
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto colon = line.find(':');
    if (colon != line.npos) all.emplace(line.substr(0, colon), line.substr(colon + 1));
  }
  return all;
}

std::vector<finding> judge(const symptoms& seen, const settings& where) {
  report all(seen, where);
  if (seen.info) {
    all.version();
    all.role();
    all.memory();
    all.persistence();
    all.replicas();
    all.cluster();
  }
  all.clock();
  all.rights();
  if (seen.info) all.connections();
  all.secrecy();
  auto found = std::move(all).take();
  if (!seen.info)
    found.push_back({level::warning,
                     "cannot tell version, role, memory, persistence, replicas and connections: the user may not call "
                     "INFO; allow it, or ask as one who may"});
  return found;
}

}  // namespace holdfast::redis
