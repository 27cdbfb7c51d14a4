#include "sentinel.hpp"

#include "greeting.hpp"
#include "reach.hpp"
#include "redis_error.hpp"
#include "reply.hpp"
#include "sentinel_list.hpp"

#include <poll.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::redis {

using namespace std::chrono_literals;

namespace {

using address = sentinel_list::address;

/// What one sentinel says.
struct word {
  line from;
  address master;
};

/// The same settings for a server at this address.
settings at(const settings& where, const address& there) {
  settings out = where;
  out.host = there.host;
  out.port = there.port;
  return out;
}

/// Each other sentinel is a list of fields with their values, one behind the other.
std::vector<address> others_in(const reply& said) {
  std::vector<address> all;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const reply one = said.at(i);
    address found;
    for (std::size_t f = 0; f + 1 < one.size(); f += 2) {
      if (one.at(f).text() == "ip") found.host = one.at(f + 1).text();
      if (one.at(f).text() == "port") found.port = one.at(f + 1).text();
    }
    if (!found.host.empty() && !found.port.empty()) all.push_back(std::move(found));
  }
  return all;
}

failure refused(const settings& sentinel, const reply& said) {
  failure why = failure_of(said.text());
  if (said.text().starts_with("NOAUTH"))
    why.detail = "the sentinel wants a password: sentinel-password-file= (and sentinel-user=)";
  why.detail = "sentinel " + sentinel.address() + ": " + why.detail;
  return why;
}

result<word> ask_sentinel(const settings& where, const address& there, steady::time_point deadline) {
  const settings sentinel = at(where, there);
  auto made = reach(sentinel, deadline);
  if (!made) return made.error();
  std::string commands;
  const std::size_t first = where.sentinel_password.empty() ? 0 : 1;
  if (!where.sentinel_user.empty())
    append_command(commands, {"AUTH", where.sentinel_user, where.sentinel_password});
  else if (first != 0)
    append_command(commands, {"AUTH", where.sentinel_password});
  append_command(commands, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", where.master});
  append_command(commands, {"SENTINEL", "SENTINELS", where.master});
  auto said = ask(*made, commands, first + 2, deadline);
  if (!said) return said.error();
  if (first != 0 && said->front().is_error()) {
    failure why = failure_of_auth(said->front().text());
    why.detail = "sentinel " + sentinel.address() + ": " + why.detail;
    return why;
  }
  if (said->size() > first && (*said)[first].is_error()) return refused(sentinel, (*said)[first]);
  if (said->size() != first + 2) return broken(sentinel.address(), "the sentinel closed the connection");
  const reply& master = (*said)[first];
  if (master.size() != 2)
    return {errc::rejected, "sentinel " + sentinel.address() + ": it knows no master '" + where.master + "'"};
  where.sentinels->learn(others_in(said->back()));
  return word{std::move(*made), {std::string(master.at(0).text()), std::string(master.at(1).text())}};
}

/// What went wrong with each, in one failure: what is no use to try again only if that holds of all of them.
class troubles {
 public:
  void add(const failure& why) {
    if (why.code != errc::rejected) rejected_ = false;
    if (text_.find(why.detail) == text_.npos) text_ += (text_.empty() ? "" : "; ") + why.detail;
  }
  failure all(const settings& where) const {
    const bool rejected = rejected_ && !text_.empty();
    return {rejected ? errc::rejected : errc::unavailable,
            "redis " + where.shown() + ": " + (text_.empty() ? "no sentinel answered in time" : text_)};
  }

 private:
  bool rejected_ = true;
  std::string text_;
};

/// Asks one after the other until `use` is content with what one says.
result<line> ask_in_turn(const settings& where, std::chrono::nanoseconds limit, troubles& trouble,
                         const std::function<std::optional<line>(word)>& use) {
  const auto deadline = steady::now() + limit;
  const auto sentinels = where.sentinels->all();
  // Half of the time for those who do not answer, however many they are: the other half is for who does.
  const auto share =
      std::max<std::chrono::nanoseconds>(limit / (2 * static_cast<std::int64_t>(sentinels.size())), 50ms);
  for (const address& there : sentinels) {
    const auto until = std::min(deadline, steady::now() + share);
    if (until <= steady::now()) break;
    auto said = ask_sentinel(where, there, until);
    if (!said) {
      where.sentinels->silent(there);
      trouble.add(said.error());
      continue;
    }
    where.sentinels->answered(there);
    if (auto made = use(std::move(*said))) return std::move(*made);
  }
  return trouble.all(where);
}

}  // namespace

result<line> dial_master(const settings& where, const std::string& client_name, std::chrono::nanoseconds limit) {
  const auto deadline = steady::now() + limit;
  for (auto pause = 10ms;; pause = std::min(2 * pause, 200ms)) {
    const auto left = deadline - steady::now();
    troubles trouble;
    bool named = false;
    std::optional<failure> unwanted;
    std::vector<address> tried;
    auto made = ask_in_turn(where, left, trouble, [&](word said) -> std::optional<line> {
      named = true;
      if (std::find(tried.begin(), tried.end(), said.master) != tried.end()) return std::nullopt;
      tried.push_back(said.master);
      // One that stands still must not take all the time: soon there may be another.
      const auto until = std::min(deadline, steady::now() + limit / 4);
      auto master = greet(at(where, said.master), client_name, until);
      if (master) return std::move(*master);
      if (master.error().code != errc::unavailable) unwanted = master.error();
      trouble.add(master.error());
      return std::nullopt;
    });
    // A master that does not want us is no failover: the next one will not either.
    if (!made && unwanted) return *unwanted;
    if (made || !named || steady::now() + pause >= deadline) return made;
    ::poll(nullptr, 0, static_cast<int>(pause.count()));
  }
}

result<line> dial_sentinel(const settings& where, std::chrono::nanoseconds limit) {
  troubles trouble;
  return ask_in_turn(where, limit, trouble, [](word said) { return std::optional(std::move(said.from)); });
}

result<std::string> locate_master(const settings& where, std::chrono::nanoseconds limit) {
  troubles trouble;
  std::string found;
  auto made = ask_in_turn(where, limit, trouble, [&](word said) {
    found = at(where, said.master).address();
    return std::optional(std::move(said.from));
  });
  if (!made) return made.error();
  return found;
}

}  // namespace holdfast::redis
