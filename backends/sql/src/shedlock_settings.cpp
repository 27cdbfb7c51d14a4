#include "shedlock_settings.hpp"

#include <string>
#include <utility>

namespace holdfast::sql {

namespace {

using namespace std::chrono_literals;

failure wrong(std::string what) { return {errc::invalid_argument, "URL: " + std::move(what)}; }

}  // namespace

result<std::optional<shedlock_settings>> take_shedlock(uri& where, std::string_view usual_schema) {
  const std::string which = where.take("layout").value_or("holdfast");
  if (which != "holdfast" && which != "shedlock")
    return wrong("layout='" + which + "' is neither 'holdfast' nor 'shedlock'");
  if (which == "holdfast") {
    for (const char* option : {"table", "at-least"})
      if (where.options.contains(option)) return wrong(std::string(option) + "= goes with layout=shedlock only");
    return std::optional<shedlock_settings>();
  }
  for (const char* option : {"schema", "prefix"})
    if (where.options.contains(option))
      return wrong(std::string(option) +
                   "= does not go with layout=shedlock: what is ours is named after ShedLock's "
                   "table; write table=NAME or table=SCHEMA.NAME");
  auto tables = beside_shedlock(where.take("table").value_or("shedlock"), usual_schema);
  if (!tables) return wrong("table=" + tables.error().detail);
  shedlock_settings out{std::move(*tables), {}};
  if (const auto text = where.take("at-least")) {
    const auto time = parse_duration(*text);
    if (!time || *time < 0s || *time > 24h)
      return wrong("at-least='" + *text + "' is not a time like 500ms, 5s or 5m, up to 24h");
    out.at_least = std::chrono::ceil<std::chrono::microseconds>(std::chrono::ceil<std::chrono::milliseconds>(*time));
  }
  return std::optional(std::move(out));
}

}  // namespace holdfast::sql
