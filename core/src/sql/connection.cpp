#include <holdfast/sql/connection.hpp>

#include "refusal.hpp"

namespace holdfast::sql {

connection::~connection() = default;

statement_failed::statement_failed(flavour from, const refusal& why, std::string operation, std::string name)
    : error(detail::failure_of(from, why), std::move(operation), std::move(name)),
      native_(why.code),
      retryable_(detail::retryable(from, why.code)) {}

statement_failed::~statement_failed() = default;

reply run(connection& in, const std::string& statement, const std::vector<value>& values, const char* operation) {
  reply got = in.execute(statement, values);
  if (got.refused) throw statement_failed(in.speaks(), *got.refused, operation, {});
  return got;
}

}  // namespace holdfast::sql
