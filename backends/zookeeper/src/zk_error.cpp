#include "zk_error.hpp"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <array>
#include <string>

namespace holdfast::zookeeper {

namespace {

struct meaning {
  int native;
  errc code;
  std::string_view text;
};

// Of 3.5 and later; the header of an older client does not have them all.
constexpr int not_read_only = -119;
constexpr int throttled = -127;

constexpr std::array meanings{
    // It will pass: the engine asks again.
    meaning{ZCONNECTIONLOSS, errc::unavailable, "the connection was lost"},
    meaning{ZOPERATIONTIMEOUT, errc::unavailable, "the server did not answer in time"},
    meaning{ZSESSIONEXPIRED, errc::unavailable, "the session has expired; a new one is being opened"},
    meaning{ZSESSIONMOVED, errc::unavailable, "the session has moved to another server"},
    meaning{ZINVALIDSTATE, errc::unavailable, "there is no session at the moment"},
    meaning{ZCLOSING, errc::unavailable, "the session is being closed"},
    meaning{ZNOTHING, errc::unavailable, "the server did not answer"},
    meaning{not_read_only, errc::unavailable, "the server has lost its quorum and only reads"},
    meaning{throttled, errc::unavailable, "the server is overloaded and refused the request"},
    meaning{ZSYSTEMERROR, errc::unavailable, "the system refused it"},
    meaning{ZRUNTIMEINCONSISTENCY, errc::unavailable, "the server contradicts itself"},
    meaning{ZDATAINCONSISTENCY, errc::unavailable, "the server contradicts itself"},
    // It needs somebody.
    meaning{ZNOAUTH, errc::rejected, "the user lacks a right (ACL); see docs/stores/zookeeper.md for those it needs"},
    meaning{ZAUTHFAILED, errc::rejected, "the server does not accept the user and password"},
    meaning{ZINVALIDACL, errc::rejected, "the server does not take the ACL; acl=creator needs a user"},
    meaning{ZNOCHILDRENFOREPHEMERALS, errc::rejected, "the node above is somebody's ephemeral node, not a lock"},
    meaning{ZNONODE, errc::rejected, "there is no such node"},
    meaning{ZNODEEXISTS, errc::rejected, "the node is there already"},
    meaning{ZNOTEMPTY, errc::rejected, "the node has children"},
    meaning{ZBADVERSION, errc::rejected, "somebody else was faster"},
    meaning{ZBADARGUMENTS, errc::rejected, "the server does not take the request"},
    meaning{ZMARSHALLINGERROR, errc::rejected, "the request or its answer is too long (jute.maxbuffer)"},
    meaning{ZUNIMPLEMENTED, errc::unsupported, "the server is too old for it; 3.5.1 or later is needed"},
};

}  // namespace

failure failure_of(int code, std::string_view doing) {
  const std::string native = std::string(doing) + ": ZooKeeper " + std::to_string(code) + " (" + zerror(code) + ")";
  for (const auto& m : meanings)
    if (m.native == code) return {m.code, std::string(m.text) + "; " + native};
  return {errc::rejected, "the server refused it; " + native};
}

bool outcome_unknown(int code) noexcept {
  if (code == ZOK) return false;
  return std::any_of(meanings.begin(), meanings.end(),
                     [&](const meaning& m) { return m.native == code && m.code == errc::unavailable; });
}

// What is between ZOK and ZAPIERROR never left this machine.
bool agreed(int code) noexcept { return code == ZOK || (code < ZAPIERROR && !outcome_unknown(code)); }

}  // namespace holdfast::zookeeper
