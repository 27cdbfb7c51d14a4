#pragma once

#include <holdfast/backend.hpp>

namespace holdfast::detail {

/// The backend for a scheme, its library loaded if need be. errc::unsupported: known, but not built or not installed;
/// errc::invalid_argument: no such scheme.
result<spi::registration> find_backend(std::string_view scheme);

}  // namespace holdfast::detail
