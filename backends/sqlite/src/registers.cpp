#include "registers.hpp"

#include <array>
#include <limits>

namespace holdfast::sqlite {

namespace {

/// Eight bytes that sort like the number. SQLite's integers end at 2^63, tokens do not.
std::array<char, 8> to_bytes(std::uint64_t number) {
  std::array<char, 8> bytes{};
  for (std::size_t i = 8; i-- > 0; number >>= 8) bytes[i] = static_cast<char>(number & 0xff);
  return bytes;
}

std::uint64_t from_bytes(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char c : bytes) number = (number << 8) | static_cast<unsigned char>(c);
  return number;
}

}  // namespace

registers::registers(connection& db)
    : load_(db.handle(), "SELECT value, version FROM cell WHERE name = ?1"),
      writer_(db.handle(), "SELECT writer, version FROM cell WHERE name = ?1"),
      insert_(db.handle(), "INSERT OR IGNORE INTO cell(name, version, writer, value) VALUES(?1, 1, ?2, ?3)"),
      update_(db.handle(),
              "UPDATE cell SET version = version + 1, writer = ?2, value = ?3 WHERE name = ?1 AND version = ?4"),
      newest_(db.handle(), "SELECT newest FROM fence WHERE name = ?1"),
      admit_(db.handle(),
             "INSERT INTO fence(name, newest) VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET newest = excluded.newest "
             "WHERE newest < excluded.newest") {}

spi::cell_value registers::load(std::string_view name) {
  rows r = load_(name);
  if (!r.next()) return {};
  return {std::string(r.text(0)), static_cast<std::uint64_t>(r.integer(1))};
}

bool registers::exchange(std::string_view name, std::uint64_t expected, std::string_view value,
                         const spi::owner_id& id) {
  if (expected > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return false;
  const int changed = expected == 0 ? insert_.run(name, id, blob{value}) : update_.run(name, id, blob{value}, expected);
  if (changed == 1) return true;
  rows r = writer_(name);
  return r.next() && r.id(0) == id && static_cast<std::uint64_t>(r.integer(1)) == expected + 1;
}

fencing_token registers::newest(std::string_view name) {
  rows r = newest_(name);
  return r.next() ? from_bytes(r.text(0)) : 0;
}

fencing_token registers::admit(std::string_view name, fencing_token token) {
  const auto bytes = to_bytes(token.value());
  admit_.run(name, blob{{bytes.data(), bytes.size()}});
  return newest(name);
}

}  // namespace holdfast::sqlite
