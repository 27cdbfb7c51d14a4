#include "doctor.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

namespace holdfast::etcd {

using namespace std::chrono_literals;

namespace {

using level = finding::level;
using version = std::array<int, 3>;

version parse(std::string_view text) {
  version found{};
  for (int& part : found) {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), part);
    if (failed != std::errc()) break;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.starts_with('.')) break;
    text.remove_prefix(1);
  }
  return found;
}

/// One that touches locks, and since when it is mended: in 3.4, in 3.5, and in what follows.
struct defect {
  version in_4;
  version in_5;
  version later;
  std::string_view words;
};
constexpr std::array defects{
    defect{{3, 4, 31},
           {3, 5, 13},
           {3, 6, 0},
           "a leader that was deposed while it hung may revoke leases that live, and watches may miss events after a "
           "compaction. Holdfast tells the loss and looks again; fixed in 3.4.31 and 3.5.13"},
    defect{{3, 4, 36},
           {3, 5, 18},
           {3, 6, 0},
           "a watch may miss a deletion that is compacted as it begins. Holdfast looks again; fixed in 3.4.36 and "
           "3.5.18"},
    defect{{3, 4, 38},
           {3, 5, 23},
           {3, 6, 5},
           "a lease that was revoked may be said to be alive. Holdfast looks for its keys with every renewal, other "
           "clients do not; fixed in 3.4.38, 3.5.23 and 3.6.5"},
};

bool has(const version& v, const defect& one) {
  if (v < version{3, 5, 0}) return v < one.in_4;
  return v < version{3, 6, 0} ? v < one.in_5 : v < one.later;
}

void judge_version(const health::answer& one, std::vector<finding>& out) {
  const version v = parse(one.version);
  const auto who = one.address + " runs etcd " + one.version + ": ";
  if (v < version{3, 4, 0}) {
    out.push_back({level::danger, who + "older than 3.4, which Holdfast is not made for; upgrade"});
    return;
  }
  const auto before = out.size();
  for (const auto& d : defects)
    if (has(v, d)) out.push_back({level::warning, who + std::string(d.words)});
  if (out.size() == before) out.push_back({level::fact, who + "no defect that touches locks is known"});
}

void judge_member(const health::answer& one, std::vector<finding>& out) {
  if (!one.failure.empty()) {
    out.push_back({level::warning, one.address + " does not answer: " + one.failure});
    return;
  }
  judge_version(one, out);
  // A date is cut to the second, and so is what is made of it.
  if (one.ahead && std::chrono::abs(*one.ahead) > 2s)
    out.push_back({level::warning, one.address + "'s clock is " + std::to_string(std::chrono::abs(*one.ahead).count()) +
                                       " s " + (*one.ahead > 0s ? "ahead of" : "behind") +
                                       " ours: leases do not depend on it, but logs cannot be compared, and signed "
                                       "tokens and certificates may be refused; keep it by NTP"});
  if (one.leader == 0) out.push_back({level::danger, one.address + " has no leader: it grants nothing"});
  if (one.learner)
    out.push_back({level::warning, one.address + " is a learner, which serves no locks; take it out of the URL"});
  if (one.quota > 0 && one.size > one.quota / 10 * 8)
    out.push_back({level::warning, one.address +
                                       ": the database has used more than four fifths of its quota; when it is full "
                                       "no lock is granted. Compact and defragment it"});
}

void judge_quorum(const health& what, std::vector<finding>& out) {
  const auto voters = std::max(what.members, what.asked.size());
  std::size_t good = 0;
  std::set<std::uint64_t> leaders;
  for (const auto& one : what.asked) {
    if (!one.failure.empty() || one.learner) continue;
    ++good;
    if (one.leader != 0) leaders.insert(one.leader);
  }
  // Of members that the URL does not name nothing is known.
  const auto unknown = voters - what.asked.size();
  if (good + unknown <= voters / 2)
    out.push_back({level::danger, "only " + std::to_string(good) + " of " + std::to_string(voters) +
                                      " members answer: that is no majority, and no lock is granted"});
  if (unknown > 0)
    out.push_back({level::fact, "the URL names " + std::to_string(what.asked.size()) + " of " + std::to_string(voters) +
                                    " members: the others are not asked, whoever fails"});
  if (leaders.size() > 1)
    out.push_back({level::warning,
                   "the members do not agree on their leader: there is an election, or one of them is "
                   "cut off from the others"});
}

void judge_cluster(const health& what, std::vector<finding>& out) {
  if (what.members == 0) return;
  const std::size_t spare = (what.members - 1) / 2;
  if (spare == 0)
    out.push_back({level::warning, "the cluster has " + std::to_string(what.members) +
                                       (what.members == 1 ? " member" : " members") +
                                       ": the loss of one is an outage. Three survive the loss of one"});
  else
    out.push_back({level::fact, "the cluster has " + std::to_string(what.members) +
                                    " members and survives the loss of " + std::to_string(spare) +
                                    "; a grant is on the disks of a majority before it counts"});
}

}  // namespace

std::vector<finding> judge(const health& what) {
  std::vector<finding> out;
  for (const auto& one : what.asked) judge_member(one, out);
  judge_quorum(what, out);
  judge_cluster(what, out);
  if (what.full)
    out.push_back({level::danger,
                   "alarm NOSPACE: the database is full and no lock is granted; compact, defragment, "
                   "`etcdctl alarm disarm`"});
  if (what.corrupt)
    out.push_back(
        {level::danger, "alarm CORRUPT: the members disagree about their data; what one says of a lock may be wrong"});
  if (what.write) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(*what.write).count();
    const std::string text = "a write took " + std::to_string(ms) + " ms, disks and network included";
    if (*what.write > 100ms)
      out.push_back({level::warning, text + ": every grant takes as long, and elections become likely"});
    else
      out.push_back({level::fact, text});
  }
  if (what.least_ttl) {
    out.push_back({level::fact, "the shortest lease is " + std::to_string(what.least_ttl->count()) +
                                    " s: a dead holder's lock comes free after that or its ttl, whichever is longer"});
  }
  out.push_back(
      {level::fact, "leases run on the leader's monotonic clock; a new leader gives each its full time again"});
  return out;
}

}  // namespace holdfast::etcd
