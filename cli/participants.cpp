#include "participants.hpp"

#include "time_text.hpp"

namespace holdfast::cli {
namespace {

void write_participants(json_writer& out, std::string_view key, const std::vector<participant>& list) {
  out.key(key).begin_array();
  for (const participant& who : list) write_participant(out, who);
  out.end_array();
}

}  // namespace

void write_participant(json_writer& out, const participant& who) {
  out.begin_object();
  out.key("owner").string(who.owner);
  out.key("token").number(who.token.value());
  out.key("host").string(who.host);
  out.key("pid").number(who.pid);
  out.key("client_name").string(who.client_name);
  out.key("since").string(rfc3339(who.since));
  out.key("remaining").decimal(std::chrono::duration_cast<std::chrono::milliseconds>(who.remaining).count());
  out.key("shared").boolean(who.shared);
  out.key("permits").number(std::uint64_t{who.permits});
  out.end_object();
}

void write_entry(json_writer& out, const entry& lock) {
  out.begin_object();
  out.key("name").string(lock.name);
  out.key("kind");
  // A free name has no kind until somebody uses it.
  lock.kind.empty() ? out.null() : out.string(lock.kind);
  write_participants(out, "holders", lock.holders);
  write_participants(out, "waiters", lock.waiters);
  out.end_object();
}

std::string who_text(const participant& who) {
  std::string text = who.client_name.empty() ? "?" : who.client_name;
  if (!who.host.empty()) text += " on " + who.host;
  if (who.pid != 0) text += ", pid " + std::to_string(who.pid);
  return text;
}

std::string share_text(const participant& who) {
  if (who.shared) return "shared";
  if (who.permits != 1) return std::to_string(who.permits) + " permits";
  return {};
}

std::string age_text(const participant& who) { return brief_duration(std::chrono::system_clock::now() - who.since); }

}  // namespace holdfast::cli
