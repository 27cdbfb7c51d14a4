#include "doctor.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <set>
#include <string_view>

namespace holdfast::zookeeper {

using namespace std::chrono_literals;

namespace {

using level = finding::level;
using version = std::array<unsigned, 3>;

// Containers came with it.
constexpr version oldest{3, 5, 1};
// ZOOKEEPER-2355: before, the ephemeral node of a dead session could stay for ever.
constexpr version sheds_nodes{3, 5, 4};
// ZOOKEEPER-4712: before, a follower that loses its leader could come to differ from the others.
constexpr version keeps_agreeing{3, 9, 3};

constexpr auto slow_write = 100ms;

std::string in_milliseconds(std::chrono::nanoseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + " ms";
}

std::string text_of(const version& v) {
  return std::to_string(v[0]) + "." + std::to_string(v[1]) + "." + std::to_string(v[2]);
}

/// `Zookeeper version: 3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f, built on ...`
std::optional<version> version_in(std::string_view srvr) {
  constexpr std::string_view mark = "ersion: ";
  const auto at = srvr.find(mark);
  if (at == srvr.npos) return std::nullopt;
  version v{};
  const char* from = srvr.data() + at + mark.size();
  const char* const end = srvr.data() + srvr.size();
  for (auto& part : v) {
    const auto [next, failed] = std::from_chars(from, end, part);
    if (failed != std::errc()) return std::nullopt;
    from = next == end ? next : next + 1;
  }
  return v;
}

std::string line_after(std::string_view text, std::string_view mark) {
  const auto at = text.find(mark);
  if (at == text.npos) return {};
  text.remove_prefix(at + mark.size());
  return std::string(text.substr(0, text.find('\n')));
}

void judge_version(const version& found, std::vector<finding>& all) {
  const std::string text = "version " + text_of(found);
  if (found < oldest)
    all.push_back({level::danger, text + ": too old for locks in Curator's layout; 3.5.1 or later is needed"});
  else if (found < sheds_nodes)
    all.push_back(
        {level::danger, text + ": a dead client's node may stay for ever (ZOOKEEPER-2355), and its lock with it; "
                               "use 3.5.4 or later"});
  else if (found < keeps_agreeing)
    all.push_back({level::warning, text + ": a follower that loses its leader may come to differ from the others "
                                          "(ZOOKEEPER-4712, mended in 3.9.3)"});
  else
    all.push_back({level::fact, text});
}

/// How many of those that were asked serve.
std::size_t judge_servers(const symptoms& seen, std::vector<finding>& all) {
  std::set<version> versions;
  std::size_t serving = 0;
  std::size_t leaders = 0;
  for (const auto& one : seen.servers) {
    const auto mode = one.srvr ? line_after(*one.srvr, "Mode: ") : std::string();
    if (!one.srvr) {
      all.push_back({level::warning, one.address +
                                         " does not answer srvr: it is down, or cannot be reached from here, or may "
                                         "not say (4lw.commands.whitelist=srvr, the default)"});
    } else if (mode.empty()) {
      all.push_back({level::warning, one.address + " does not serve: it starts, or finds no majority"});
    } else {
      ++serving;
      if (mode == "leader" || mode == "standalone") ++leaders;
      all.push_back({level::fact, one.address + " is " + mode});
    }
    if (const auto found = one.srvr ? version_in(*one.srvr) : std::nullopt) versions.insert(*found);
  }
  if (leaders > 1)
    all.push_back(
        {level::warning, std::to_string(leaders) +
                             " servers say that they lead: the URL names several ensembles, or there is an election"});
  if (versions.empty()) all.push_back({level::warning, "version: cannot tell; no server answers srvr"});
  for (const auto& one : versions) judge_version(one, all);
  return serving;
}

void judge_majority(std::size_t members, std::size_t named, std::size_t serving, std::vector<finding>& all) {
  if (named > members || members < 3) return;
  // Of those that the URL does not name nothing is known.
  if (serving + (members - named) <= members / 2 + 1 && serving < named)
    all.push_back({level::danger, "of " + std::to_string(named) + " servers " + std::to_string(serving) +
                                      " serve: the loss of one more stops all, and no lock is granted then"});
  if (named < members)
    all.push_back({level::fact, "the URL names " + std::to_string(named) + " of " + std::to_string(members) +
                                    " members: the others are not asked, whoever fails"});
}

void judge_members(const symptoms& seen, std::size_t serving, std::vector<finding>& all) {
  if (!seen.members) {
    all.push_back({level::warning, "members: cannot tell; the user may not read /zookeeper/config"});
    return;
  }
  std::size_t count = 0;
  for (std::size_t at = seen.members->find("server."); at != std::string::npos;
       at = seen.members->find("server.", at + 1))
    if (seen.members->substr(at, seen.members->find('\n', at) - at).find(":observer") == std::string::npos) ++count;
  const std::string text = std::to_string(count) + " members";
  if (count <= 1)
    all.push_back({level::warning,
                   "a single server: while it is down nobody gets a lock, and if its disk is lost tokens start "
                   "again; three are the least that survive the loss of one"});
  else if (count == 2)
    all.push_back({level::warning, text + ": the loss of either stops all; three survive the loss of one"});
  else if (count % 2 == 0)
    all.push_back({level::warning, text + ": no more can be lost than of one less; an odd number is as safe"});
  else
    all.push_back({level::fact, text + ": " + std::to_string((count - 1) / 2) + " may be lost"});
  judge_majority(count, seen.servers.size(), serving, all);
}

void judge_session(const symptoms& seen, std::vector<finding>& all) {
  const std::string granted = "session timeout " + in_milliseconds(seen.granted);
  if (seen.granted == seen.asked) {
    all.push_back({level::fact, granted + ": the lock of a dead client comes free after that"});
  } else {
    all.push_back({level::warning, granted + ", though " + in_milliseconds(seen.asked) +
                                       " were asked for: the lock of a dead client comes free after that "
                                       "(minSessionTimeout, maxSessionTimeout, tickTime)"});
  }
}

void judge_disk(const symptoms& seen, std::vector<finding>& all) {
  if (!seen.write) return;
  if (*seen.write > slow_write)
    all.push_back({level::warning,
                   "a write took " + in_milliseconds(*seen.write) +
                       ": every acquire and release is one; give the transaction log (dataLogDir) a disk of its own"});
  else
    all.push_back({level::fact, "a write took " + in_milliseconds(*seen.write)});
}

bool is_here(const std::string& servers) {
  return servers.find("127.0.0.1:") == 0 || servers.find("localhost:") == 0 || servers.find("[::1]:") == 0;
}

}  // namespace

std::vector<finding> judge_health(const symptoms& seen, const settings& where) {
  std::vector<finding> all;
  const auto serving = judge_servers(seen, all);
  judge_members(seen, serving, all);
  judge_session(seen, all);
  if (seen.forbidden)
    all.push_back({level::danger,
                   "no lock can be had below '" + (where.root.empty() ? "/" : where.root) + "': " + *seen.forbidden});
  judge_disk(seen, all);
  if (!where.user.empty() && !is_here(where.servers))
    all.push_back({level::warning, "the password goes to another machine without TLS"});
  all.push_back({level::fact,
                 "tokens increase as long as the ensemble keeps its data; after a restore from a backup they do not"});
  return all;
}

}  // namespace holdfast::zookeeper
