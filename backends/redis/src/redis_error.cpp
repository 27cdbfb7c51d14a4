#include "redis_error.hpp"

#include <array>
#include <system_error>

namespace holdfast::redis {

namespace {

struct meaning {
  std::string_view starts;
  errc code;
  std::string_view text;  ///< Ours, before the server's; alone where the server's is left out.
  bool keep = true;       ///< Show the server's words?
};

constexpr std::array meanings{
    // It will pass: the engine asks again.
    meaning{"LOADING", errc::unavailable, "the server is loading its data"},
    meaning{"BUSY", errc::unavailable, "the server is busy with a script"},
    meaning{"MASTERDOWN", errc::unavailable, "the replica has no link to its master"},
    meaning{"READONLY", errc::unavailable, "the server is a replica, and locks are written at the master"},
    meaning{"UNBLOCKED", errc::unavailable, "the server changed its role"},
    meaning{"NOREPLICAS", errc::unavailable, "the server has too few replicas to accept writes"},
    meaning{"CLUSTERDOWN", errc::unavailable, "the cluster is down"},
    meaning{"TRYAGAIN", errc::unavailable, "the slot is moving"},
    meaning{"ERR max number of clients", errc::unavailable, "the server has no room for another client"},
    // It needs somebody.
    meaning{"OOM", errc::rejected, "the server is out of memory (maxmemory)"},
    meaning{"MISCONF", errc::rejected, "the server cannot save to disk and refuses writes"},
    meaning{"NOAUTH", errc::rejected, "the server wants a password; write redis://user:password@host", false},
    meaning{"WRONGPASS", errc::rejected, "the server does not know this user and password", false},
    meaning{"ERR invalid password", errc::rejected, "the server does not know this password", false},
    meaning{"ERR AUTH", errc::rejected, "the server has no password set, but one was given", false},
    meaning{"ERR Client sent AUTH", errc::rejected, "the server has no password set, but one was given", false},
    meaning{"NOPERM", errc::rejected, "the user lacks a right; see docs/stores/redis.md for those it needs"},
    meaning{"DENIED", errc::rejected, "the server is in protected mode"},
    meaning{"WRONGTYPE", errc::rejected, "the key of this name holds something that is no lock"},
    meaning{"ERR DB index", errc::rejected, "the server has no such database number"},
    meaning{"ERR invalid DB index", errc::rejected, "the server has no such database number"},
    meaning{"MOVED", errc::unsupported, "the server is part of a Redis Cluster"},
    meaning{"ASK", errc::unsupported, "the server is part of a Redis Cluster"},
    meaning{"CROSSSLOT", errc::unsupported, "the server is part of a Redis Cluster"},
};

}  // namespace

failure failure_of(std::string_view error_reply) {
  if (error_reply.find("can't publish") != error_reply.npos || error_reply.find("of the channels") != error_reply.npos)
    return {errc::rejected,
            "the user lacks the right to a channel (ACL: &holdfast_* &redisson_*, allchannels for fifo; see "
            "docs/stores/redis.md): " +
                std::string(error_reply)};
  // A script's error has the command's own inside it.
  for (const auto& m : meanings) {
    if (!error_reply.starts_with(m.starts)) continue;
    return {m.code, m.keep ? std::string(m.text) + ": " + std::string(error_reply) : std::string(m.text)};
  }
  for (const auto& m : meanings) {
    if (error_reply.find(m.starts) == error_reply.npos || !error_reply.starts_with("ERR Error running script"))
      continue;
    return {m.code, m.keep ? std::string(m.text) + ": " + std::string(error_reply) : std::string(m.text)};
  }
  return {errc::rejected, "the server refused it: " + std::string(error_reply)};
}

bool tells_of_replica(std::string_view error_reply) noexcept {
  for (const std::string_view sign : {"READONLY ", "MASTERDOWN ", "UNBLOCKED "})
    if (error_reply.find(sign) != error_reply.npos) return true;
  return false;
}

bool tells_of_other_node(std::string_view error_reply) noexcept {
  for (const std::string_view sign : {"MOVED ", "ASK ", "CLUSTERDOWN ", "TRYAGAIN "})
    if (error_reply.starts_with(sign)) return true;
  return false;
}

failure failure_of_auth(std::string_view error_reply) {
  for (const auto& m : meanings)
    if (error_reply.starts_with(m.starts)) return {m.code, std::string(m.text)};
  return {errc::rejected, "the server refused the user and password (AUTH)"};
}

failure broken(const std::string& where, std::string_view what) {
  return {errc::unavailable, "redis " + where + ": " + std::string(what)};
}

failure broken(const std::string& where, std::string_view what, int error_number) {
  return broken(where, std::string(what) + ": " + std::generic_category().message(error_number));
}

}  // namespace holdfast::redis
