#pragma once

#include <holdfast/sql.hpp>

#include <memory>
#include <string>

namespace flash_sale {

/// Connects with libpq or with MariaDB Connector/C, whichever the URL asks for. Throws std::runtime_error.
std::unique_ptr<holdfast::sql::connection> open(const std::string& url);

}  // namespace flash_sale
