#pragma once

#include <holdfast/backend.hpp>

#include <cstdint>
#include <string>

namespace holdfast::sql {

/// The refusal of a name that is in other use; `present` is its kind, as the tables have it.
failure other_kind(const std::string& name, spi::kind wanted, std::int64_t present);
/// errc::lost.
failure not_ours();

std::string bytes_of(const spi::owner_id& id);

}  // namespace holdfast::sql
