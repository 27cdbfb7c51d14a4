#include "claims.hpp"

#include "engine.hpp"

namespace holdfast::detail {

void unlock(held_leases& held, const client& c, const std::string& name) noexcept {
  // The lease's destructor releases, and logs what fails.
  if (!held.take())
    c.engine()->log(log_level::warning, "unlock of '" + name + "', which this object does not hold: nothing done");
}

}  // namespace holdfast::detail
