#include <holdfast/sql/fenced_table.hpp>

#include "text.hpp"

#include <charconv>

namespace holdfast::sql {

fenced_table::fenced_table(options where) : where_(std::move(where)) {
  detail::check_identifier(where_.table, "table");
  detail::check_identifier(where_.fence, "fence");
}

admission fenced_table::write(connection& in, const key& which, fencing_token token,
                              const std::vector<field>& changes) const {
  if (token.value() == 0) throw error({errc::invalid_argument, "token 0 is nobody's"}, "write", where_.table);
  detail::check_not_among(where_.fence, changes, "write", where_.table);
  const std::string table = detail::quoted_table(in.speaks(), where_.schema, where_.table);
  detail::composition change(in.speaks());
  change.put("UPDATE ").put(table).put(" SET ").assignments(changes).put(changes.empty() ? "" : ", ");
  change.name(where_.fence).put(" = ").place(token.value()).put(" WHERE ").condition(which);
  change.put(" AND ").name(where_.fence).put(" <= ").place(token.value());
  const auto written = run(in, change.text(), change.values(), "write").affected;
  if (written > 1)
    throw error({errc::invalid_argument, "the key names " + std::to_string(written) + " rows; it must name one"},
                "write", where_.table);
  if (written == 1) return admission::admitted;

  // Refused, or no row; or MySQL, which does not count a row that was equal before: then its token is this one, as a
  // smaller one would have changed, and a greater one never falls. It is to look at what is there now, not at the
  // transaction's snapshot.
  detail::composition look(in.speaks());
  look.put("SELECT ").name(where_.fence).put(" FROM ").put(table).put(" WHERE ").condition(which);
  if (in.speaks() != flavour::postgresql) look.put(" FOR UPDATE");
  const auto found = run(in, look.text(), look.values(), "write");
  if (found.rows.empty()) return admission::missing;
  std::uint64_t newest = 0;
  const std::string digits = found.rows[0].at(0).value_or("");
  std::from_chars(digits.data(), digits.data() + digits.size(), newest);
  if (newest > token.value()) return admission::refused;
  const bool equal = in.speaks() != flavour::postgresql && newest == token.value();
  return equal ? admission::admitted : admission::missing;  // it came only after the UPDATE
}

}  // namespace holdfast::sql
