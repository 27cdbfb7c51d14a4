#include "count_record.hpp"

#include <algorithm>
#include <sstream>

namespace holdfast::zookeeper {

namespace {

constexpr std::size_t remembered_steps = 64;

std::optional<spi::owner_id> id_of(const std::string& hex) {
  spi::owner_id id;
  if (hex.size() != 2 * id.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    unsigned byte = 0;
    std::istringstream two(hex.substr(2 * i, 2));
    if (!(two >> std::hex >> byte)) return std::nullopt;
    id.bytes[i] = static_cast<std::uint8_t>(byte);
  }
  return id;
}

}  // namespace

std::optional<count_record> count_record::read(std::string_view text) {
  std::istringstream in{std::string(text)};
  count_record r;
  std::string kind;
  std::string set;
  if (!(in >> kind >> r.value >> set)) return std::nullopt;
  if (kind != "semaphore" && kind != "latch") return std::nullopt;
  r.kind = kind == "latch" ? spi::kind::latch : spi::kind::semaphore;
  r.set = set == "set";
  std::string hex;
  step one;
  while (in >> hex >> one.taken >> one.reply.done >> one.reply.value) {
    const auto id = id_of(hex);
    if (!id) return std::nullopt;
    one.id = *id;
    r.recent.push_back(one);
  }
  return r;
}

std::string count_record::text() const {
  std::ostringstream out;
  out << (kind == spi::kind::latch ? "latch " : "semaphore ") << value << (set ? " set" : " unset");
  for (const auto& one : recent)
    out << '\n' << one.id.hex() << ' ' << one.taken << ' ' << one.reply.done << ' ' << one.reply.value;
  return out.str();
}

count_record::step* count_record::recall(const spi::owner_id& id) noexcept {
  const auto found = std::find_if(recent.begin(), recent.end(), [&](const step& s) { return s.id == id; });
  return found == recent.end() ? nullptr : &*found;
}

void count_record::remember(step what) {
  recent.push_back(what);
  while (recent.size() > remembered_steps) recent.pop_front();
}

result<spi::count_reply> count_record::apply(const spi::count_request& request) {
  using op = spi::count_request::op;
  spi::count_reply reply;
  switch (request.what) {
    case op::get:
      break;
    case op::set_if_unset:
      reply.done = kind == spi::kind::semaphore ? !set : value == 0;
      if (reply.done) value = request.amount;
      set = true;
      break;
    case op::add:
      if (__builtin_add_overflow(value, request.amount, &value))
        return {errc::invalid_argument, "'" + request.name + "': the number of permits would not fit in 64 bits"};
      set = true;
      break;
    case op::subtract:
      value = std::max<std::int64_t>(0, value - request.amount);
      break;
    case op::drain:
      reply.value = std::max<std::int64_t>(0, value);
      value -= reply.value;
      return reply;
  }
  reply.value = value;
  return reply;
}

}  // namespace holdfast::zookeeper
