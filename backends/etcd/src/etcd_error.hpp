#pragma once

#include <holdfast/error.hpp>

#include <grpcpp/support/status.h>

#include <string>

namespace holdfast::etcd {

/// What a failed call means. `where`: who was asked, for those that got no answer.
failure failure_of(const grpc::Status& status, const std::string& where);
/// What a watch that the server ended means, by its cancel_reason.
failure failure_of_watch(const std::string& reason);

/// The login is over, or the rights changed since: log in again and ask once more.
bool wants_new_token(const grpc::Status& status);
/// Another member may answer.
bool wants_other_member(const grpc::Status& status);
/// The lease that was named is gone.
bool tells_of_lost_lease(const grpc::Status& status);
/// The server knows no users: who has a password goes on without.
bool knows_no_users(const grpc::Status& status);

}  // namespace holdfast::etcd
