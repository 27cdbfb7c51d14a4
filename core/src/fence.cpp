#include <holdfast/fence.hpp>

#include "ask.hpp"
#include "face.hpp"

namespace holdfast {

namespace {

fencing_token newest_after(const client& c, const std::string& name, fencing_token token, const char* operation) {
  auto& e = *c.engine();
  return detail::ask<fencing_token>(
      e, operation, name, [&](auto done) { e.store().admit(name, token, spi::caller::may_block, std::move(done)); });
}

}  // namespace

fence::fence(client c, std::string name) : client_(std::move(c)), name_(std::move(name)) {
  detail::require(client_, name_, client_.engine()->supports().fence, "fence");
}

bool fence::admit(fencing_token token) { return newest_after(client_, name_, token, "admit") == token; }
fencing_token fence::newest() const { return newest_after(client_, name_, 0, "newest"); }

}  // namespace holdfast
