#pragma once

#include <string_view>

/// The bodies of the routines, in the words of dialect.hpp.
namespace holdfast::sql::text {

extern const std::string_view enter;
extern const std::string_view enter_number;
extern const std::string_view leave;
extern const std::string_view leave_number;
extern const std::string_view renew;
extern const std::string_view convert;
extern const std::string_view raise_token;
extern const std::string_view count_step;
extern const std::string_view exchange_cell;
extern const std::string_view admit_token;
extern const std::string_view evict;
extern const std::string_view inspection;  ///< A statement, not a body.

extern const std::string_view shed_enter;
extern const std::string_view shed_leave;
extern const std::string_view shed_renew;
extern const std::string_view shed_evict;
extern const std::string_view shed_inspection;  ///< A statement, not a body.

}  // namespace holdfast::sql::text
