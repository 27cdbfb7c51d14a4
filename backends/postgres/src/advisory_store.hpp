#pragma once

#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <memory>

namespace holdfast::postgres {

/// A PostgreSQL database whose mutexes are advisory locks that sessions hold. Blocks at most connect_timeout.
result<std::unique_ptr<spi::backend>> open_sessions(settings where, spi::runtime& engine);

}  // namespace holdfast::postgres
