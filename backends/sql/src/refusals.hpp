#pragma once

#include <holdfast/backend.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::sql {

/// The refusal of a name that is in other use; `present` is its kind, as the tables have it.
failure other_kind(const std::string& name, spi::kind wanted, std::int64_t present);
/// errc::lost.
failure not_ours();

std::string bytes_of(const spi::owner_id& id);
spi::owner_id id_of(std::string_view hex);
/// pid, host and client name as rows keep them: tabs are what separates them.
std::string describe(const spi::identity& who);
/// At least 1.
std::int64_t microseconds(std::chrono::nanoseconds time);

}  // namespace holdfast::sql
