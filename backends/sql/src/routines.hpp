#pragma once

#include "dialect.hpp"
#include "layout.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sql {

struct variable {
  std::string_view name;
  type holds = type::number;
};

/// A step that the database takes as a whole: one call, one transaction. A client that is paused or killed in the midst
/// of it holds no row locked. Each may be sent again: it is told apart by the id of the claim or request.
struct routine {
  std::string_view name;
  std::vector<variable> takes;
  std::vector<variable> gives;
  std::string_view body;
};

/// Every routine of our own tables. Numbers of kinds, accesses and operations are those of spi:: and of
/// count_request::op; times and ttls are microseconds.
const std::vector<routine>& routines();
/// Those of a layout: of ShedLock's table some, which take and give the same.
const std::vector<routine>& routines_of(const layout& which);
const routine& routine_called(std::string_view name, const layout& which = {});

/// What the bodies use beside parameters and answers; those that are an answer of a routine are none of its variables.
const std::vector<variable>& variables();

}  // namespace holdfast::sql
