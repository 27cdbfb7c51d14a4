#include "lease_backend.hpp"

#include <algorithm>
#include <charconv>

namespace holdfast::sql {

namespace {

// Columns of text::inspection.
enum column : int { what, name, kind, owner, token, access, permits, remaining, since, holder };

std::string hex(std::string_view bytes) {
  spi::owner_id id;
  std::copy_n(bytes.begin(), std::min(bytes.size(), id.bytes.size()), id.bytes.begin());
  return id.hex();
}

/// pid, host and client name, with tabs between.
void describe(std::string_view stored, participant& who) {
  const auto first = stored.find('\t');
  const auto second = first == stored.npos ? stored.npos : stored.find('\t', first + 1);
  if (second == stored.npos) return;
  std::from_chars(stored.data(), stored.data() + first, who.pid);
  who.host = stored.substr(first + 1, second - first - 1);
  who.client_name = stored.substr(second + 1);
}

participant participant_of(const rows& all, int row, spi::kind of) {
  participant who;
  who.owner = hex(all.text(row, owner));
  who.token = fencing_token(static_cast<std::uint64_t>(all.integer(row, token)));
  who.since = std::chrono::system_clock::time_point(std::chrono::microseconds(all.integer(row, since)));
  who.remaining = std::chrono::microseconds(std::max<std::int64_t>(0, all.integer(row, remaining)));
  who.shared = of == spi::kind::shared_mutex && all.integer(row, access) == 2;
  who.permits = static_cast<std::uint32_t>(all.integer(row, permits));
  describe(all.text(row, holder), who);
  if (all.text(row, owner).empty()) who.owner = who.host;  // none of ours: all there is to know of him
  return who;
}

}  // namespace

void lease_backend::inspect(const std::string& prefix, spi::completion<std::vector<entry>> done) {
  arguments with;
  // No UTF-8 has a byte of 0xff: every name with the prefix is before this.
  with.add_bytes(prefix).add_bytes(prefix + '\xff');
  use(reports).ask(say_.inspect, std::move(with), spi::caller::must_not_block,
                   [done = std::move(done)](const result<rows>& said) mutable {
                     if (!said) return done(said.error());
                     std::vector<entry> all;
                     for (int row = 0; row < said->size(); ++row) {
                       const std::string called = said->text(row, name);
                       const auto of = static_cast<spi::kind>(said->integer(row, kind));
                       if (all.empty() || all.back().name != called) all.push_back({called, to_string(of), {}, {}});
                       const bool holds = said->integer(row, what) == 1;
                       (holds ? all.back().holders : all.back().waiters).push_back(participant_of(*said, row, of));
                     }
                     done(std::move(all));
                   });
}

}  // namespace holdfast::sql
