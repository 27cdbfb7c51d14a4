#include "statement.hpp"

namespace holdfast::sqlite {

bool rows::next() {
  const int code = sqlite3_step(running_);
  if (code == SQLITE_ROW) return true;
  sqlite3* db = sqlite3_db_handle(running_);
  if (code != SQLITE_DONE) check(code, db);
  return false;
}

std::string_view rows::text(int column) const noexcept {
  const void* bytes = sqlite3_column_blob(running_, column);
  const int size = sqlite3_column_bytes(running_, column);
  if (bytes == nullptr || size <= 0) return {};
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

spi::owner_id rows::id(int column) const noexcept {
  spi::owner_id id;
  const std::string_view bytes = text(column);
  if (bytes.size() == id.bytes.size()) std::memcpy(id.bytes.data(), bytes.data(), bytes.size());
  return id;
}

void statement::prepare() {
  check(sqlite3_prepare_v3(db_, sql_, -1, SQLITE_PREPARE_PERSISTENT, &prepared_, nullptr), db_);
}

}  // namespace holdfast::sqlite
