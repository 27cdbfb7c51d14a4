#include "etcd_error.hpp"

#include <gtest/gtest.h>

namespace holdfast::etcd {

using grpc::Status;
using grpc::StatusCode;

TEST(etcd_errors, each_has_its_meaning) {
  const struct {
    StatusCode code;
    const char* said;
    errc means;
  } table[] = {
      {StatusCode::UNAVAILABLE, "etcdserver: no leader", errc::unavailable},
      {StatusCode::UNAVAILABLE, "etcdserver: leader changed", errc::unavailable},
      {StatusCode::UNAVAILABLE, "etcdserver: request timed out", errc::unavailable},
      {StatusCode::UNAVAILABLE, "etcdserver: request timed out, possibly due to connection lost", errc::unavailable},
      {StatusCode::UNAVAILABLE, "failed to connect to all addresses", errc::unavailable},
      {StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded", errc::unavailable},
      {StatusCode::CANCELLED, "CANCELLED", errc::unavailable},
      {StatusCode::UNKNOWN, "Stream removed", errc::unavailable},
      {StatusCode::INTERNAL, "Received RST_STREAM", errc::unavailable},
      {StatusCode::OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted", errc::unavailable},
      {StatusCode::FAILED_PRECONDITION, "etcdserver: rpc not supported for learner", errc::unavailable},
      {StatusCode::RESOURCE_EXHAUSTED, "etcdserver: too many requests", errc::unavailable},
      {StatusCode::INVALID_ARGUMENT, "etcdserver: revision of auth store is old", errc::unavailable},
      {StatusCode::NOT_FOUND, "etcdserver: requested lease not found", errc::lost},
      {StatusCode::RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded", errc::rejected},
      {StatusCode::PERMISSION_DENIED, "etcdserver: permission denied", errc::rejected},
      {StatusCode::UNAUTHENTICATED, "etcdserver: invalid auth token", errc::rejected},
      {StatusCode::INVALID_ARGUMENT, "etcdserver: authentication failed, invalid user ID or password", errc::rejected},
      {StatusCode::INVALID_ARGUMENT, "etcdserver: user name is empty", errc::rejected},
      {StatusCode::INVALID_ARGUMENT, "etcdserver: request is too large", errc::rejected},
      {StatusCode::FAILED_PRECONDITION, "something new", errc::rejected},
      {StatusCode::UNIMPLEMENTED, "unknown service etcdserverpb.KV", errc::unsupported},
  };
  for (const auto& row : table) {
    const failure f = failure_of(Status(row.code, row.said), "h:1");
    EXPECT_EQ(f.code, make_error_code(row.means)) << row.said;
    EXPECT_NE(f.detail.find("h:1"), f.detail.npos);
  }
}

TEST(etcd_errors, the_native_code_is_kept) {
  const failure f = failure_of(Status(StatusCode::UNAVAILABLE, "etcdserver: no leader"), "h:1");
  EXPECT_NE(f.detail.find("gRPC 14"), f.detail.npos) << f.detail;
  EXPECT_NE(f.detail.find("etcdserver: no leader"), f.detail.npos) << f.detail;
}

TEST(etcd_errors, who_is_to_log_in_again_and_who_is_to_ask_another) {
  EXPECT_TRUE(wants_new_token(Status(StatusCode::UNAUTHENTICATED, "etcdserver: invalid auth token")));
  EXPECT_TRUE(wants_new_token(Status(StatusCode::INVALID_ARGUMENT, "etcdserver: revision of auth store is old")));
  EXPECT_TRUE(wants_new_token(Status(StatusCode::INVALID_ARGUMENT, "etcdserver: user name is empty")));
  EXPECT_FALSE(wants_new_token(Status(StatusCode::INVALID_ARGUMENT, "etcdserver: authentication failed")));
  EXPECT_FALSE(wants_new_token(Status(StatusCode::PERMISSION_DENIED, "etcdserver: permission denied")));
  EXPECT_TRUE(wants_other_member(Status(StatusCode::UNAVAILABLE, "")));
  EXPECT_TRUE(wants_other_member(Status(StatusCode::DEADLINE_EXCEEDED, "")));
  EXPECT_TRUE(wants_other_member(Status(StatusCode::FAILED_PRECONDITION, "etcdserver: rpc not supported for learner")));
  EXPECT_FALSE(wants_other_member(Status(StatusCode::PERMISSION_DENIED, "")));
  EXPECT_TRUE(knows_no_users(Status(StatusCode::FAILED_PRECONDITION, "etcdserver: authentication is not enabled")));
}

TEST(etcd_errors, a_watch_that_is_forbidden_is_told_from_one_that_ended) {
  EXPECT_EQ(failure_of_watch("etcdserver: permission denied").code, make_error_code(errc::rejected));
  EXPECT_EQ(failure_of_watch("etcdserver: mvcc: required revision has been compacted").code,
            make_error_code(errc::unavailable));
}

}  // namespace holdfast::etcd
