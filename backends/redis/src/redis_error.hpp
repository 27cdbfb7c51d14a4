#pragma once

#include <holdfast/error.hpp>

#include <string>
#include <string_view>

namespace holdfast::redis {

/// What an error reply means to the caller; `detail` keeps the server's own words, where they cannot hold a secret.
failure failure_of(std::string_view error_reply);

/// The same of the reply to AUTH, without a word of the server's: they may quote what was sent.
failure failure_of_auth(std::string_view error_reply);

/// Is it a replica, or becoming one? Then a new connection may reach the master.
bool tells_of_replica(std::string_view error_reply) noexcept;

/// Is it another node of the cluster that serves the slot, or nobody for now?
bool tells_of_other_node(std::string_view error_reply) noexcept;

/// A connection that could not be made or ended: errc::unavailable.
failure broken(const std::string& where, std::string_view what);
failure broken(const std::string& where, std::string_view what, int error_number);

}  // namespace holdfast::redis
