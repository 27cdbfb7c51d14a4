#include "etcd_error.hpp"

#include <array>
#include <string_view>

namespace holdfast::etcd {

namespace {

using grpc::StatusCode;

struct meaning {
  StatusCode code;
  std::string_view text;  ///< Somewhere in the server's words; empty: any.
  errc means;
  std::string_view say;  ///< Ours, before the server's.
  bool keep = true;      ///< Show the server's words?
};

constexpr std::array meanings{
    // It needs somebody.
    meaning{StatusCode::UNAUTHENTICATED, "", errc::rejected, "the server wants a login", true},
    meaning{StatusCode::INVALID_ARGUMENT, "authentication failed", errc::rejected,
            "the server does not know this user and password", false},
    meaning{StatusCode::INVALID_ARGUMENT, "user name is empty", errc::rejected,
            "the server wants a user; write etcd://user:password@host", false},
    meaning{StatusCode::INVALID_ARGUMENT, "revision of auth store is old", errc::unavailable,
            "the server's users have just changed"},
    meaning{StatusCode::PERMISSION_DENIED, "", errc::rejected,
            "the user lacks a right; see docs/stores/etcd.md for those it needs"},
    meaning{StatusCode::RESOURCE_EXHAUSTED, "database space exceeded", errc::rejected,
            "the server's database is full (alarm NOSPACE) and takes no new locks"},
    meaning{StatusCode::RESOURCE_EXHAUSTED, "", errc::unavailable, "the server has too much to do"},
    meaning{StatusCode::INVALID_ARGUMENT, "", errc::rejected, "the server refused it"},
    meaning{StatusCode::UNIMPLEMENTED, "", errc::unsupported, "this is no etcd 3.4 or newer"},
    // It will pass: the engine asks again, maybe somebody else.
    meaning{StatusCode::NOT_FOUND, "lease not found", errc::lost, "the lease is gone"},
    meaning{StatusCode::UNAVAILABLE, "", errc::unavailable, "no answer"},
    meaning{StatusCode::DEADLINE_EXCEEDED, "", errc::unavailable, "no answer in time"},
    meaning{StatusCode::CANCELLED, "", errc::unavailable, "the call was cut off"},
    meaning{StatusCode::ABORTED, "", errc::unavailable, "the call was cut off"},
    meaning{StatusCode::OUT_OF_RANGE, "", errc::unavailable, "the server has compacted what was asked for"},
    meaning{StatusCode::FAILED_PRECONDITION, "learner", errc::unavailable, "the member is a learner"},
    meaning{StatusCode::FAILED_PRECONDITION, "not capable", errc::unavailable, "the member is not ready"},
    // A proxy, a server that is starting, a stream that broke in an odd place: the outcome is not known.
    meaning{StatusCode::UNKNOWN, "", errc::unavailable, "the answer was none"},
    meaning{StatusCode::INTERNAL, "", errc::unavailable, "the answer was none"},
};

bool has(const grpc::Status& status, std::string_view words) {
  return status.error_message().find(words) != std::string::npos;
}

}  // namespace

failure failure_of(const grpc::Status& status, const std::string& where) {
  const std::string native = "gRPC " + std::to_string(status.error_code()) + ", " + status.error_message();
  for (const auto& m : meanings) {
    if (m.code != status.error_code() || !has(status, m.text)) continue;
    std::string text = "etcd " + where + ": " + std::string(m.say);
    if (m.keep) text += " (" + native + ")";
    return {m.means, std::move(text)};
  }
  return {errc::rejected, "etcd " + where + ": the server refused it (" + native + ")"};
}

failure failure_of_watch(const std::string& reason) {
  if (reason.find("permission denied") != reason.npos)
    return {errc::rejected, "the user lacks the right to watch; see docs/stores/etcd.md (" + reason + ")"};
  return {errc::unavailable, "the server ended a watch (" + reason + ")"};
}

bool wants_new_token(const grpc::Status& status) {
  return status.error_code() == StatusCode::UNAUTHENTICATED ||
         (status.error_code() == StatusCode::INVALID_ARGUMENT &&
          (has(status, "revision of auth store is old") || has(status, "user name is empty")));
}

bool wants_other_member(const grpc::Status& status) {
  switch (status.error_code()) {
    case StatusCode::UNAVAILABLE:
    case StatusCode::DEADLINE_EXCEEDED:
    case StatusCode::UNKNOWN:
    case StatusCode::INTERNAL:
      return true;
    case StatusCode::FAILED_PRECONDITION:
      return has(status, "learner") || has(status, "not capable");
    default:
      return false;
  }
}

bool tells_of_lost_lease(const grpc::Status& status) {
  return status.error_code() == StatusCode::NOT_FOUND && has(status, "lease not found");
}

bool knows_no_users(const grpc::Status& status) {
  return status.error_code() == StatusCode::FAILED_PRECONDITION && has(status, "authentication is not enabled");
}

}  // namespace holdfast::etcd
