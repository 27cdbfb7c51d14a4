#include "memcached_error.hpp"

#include <array>
#include <system_error>

namespace holdfast::memcached {

namespace {

struct meaning {
  std::string_view has;
  errc code;
  std::string_view text;  ///< Ours, before the server's.
};

constexpr std::array meanings{
    meaning{"authentication failure", errc::rejected, "the server does not know this user and password"},
    meaning{"unauthenticated", errc::rejected,
            "the server wants a user and password; write memcached://user:password@host"},
    // It has evicted what it could, or may not (-M): somebody must give it memory.
    meaning{"out of memory", errc::rejected, "the server is out of memory (-m)"},
    meaning{"object too large", errc::rejected, "the server takes no item of this size (-I)"},
    meaning{"BUSY", errc::unavailable, "the server is busy listing its keys for somebody else"},
    meaning{"metadump not allowed", errc::unsupported,
            "the server does not list its keys (-X), so nothing can be shown"},
    meaning{"lru crawler disabled", errc::unsupported,
            "the server does not list its keys (no_lru_crawler), so nothing can be shown"},
    meaning{"Too many open connections", errc::unavailable, "the server has no room for another client (-c)"},
};

}  // namespace

failure failure_of(std::string_view error_reply) {
  for (const auto& m : meanings) {
    if (error_reply.find(m.has) == error_reply.npos) continue;
    return {m.code, std::string(m.text) + ": " + std::string(error_reply)};
  }
  if (error_reply == "ERROR")
    return {errc::unsupported,
            "the server does not know the command: memcached 1.6.10 with its meta commands is needed"};
  if (error_reply.starts_with("SERVER_ERROR"))
    return {errc::unavailable, "the server failed: " + std::string(error_reply)};
  return {errc::rejected, "the server refused it: " + std::string(error_reply)};
}

bool keeps_in_step(std::string_view error_reply) noexcept {
  return error_reply.starts_with("SERVER_ERROR") || error_reply.starts_with("BUSY");
}

failure broken(const std::string& where, std::string_view what) {
  return {errc::unavailable, "memcached " + where + ": " + std::string(what)};
}

failure broken(const std::string& where, std::string_view what, int error_number) {
  return broken(where, std::string(what) + ": " + std::generic_category().message(error_number));
}

}  // namespace holdfast::memcached
