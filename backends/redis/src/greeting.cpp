#include "greeting.hpp"

#include "redis_error.hpp"
#include "reply.hpp"
#include "script.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace holdfast::redis {

namespace {

/// Redis takes no spaces and nothing unprintable.
std::string printable(const std::string& name) {
  std::string out = "holdfast";
  if (!name.empty()) out += ':';
  for (const char c : name) out += c > ' ' && c < 0x7f ? c : '_';
  return out;
}

struct greeting {
  std::string bytes;
  std::vector<std::string_view> verbs;

  void add(const std::vector<std::string_view>& words) {
    append_command(bytes, words);
    verbs.push_back(words.front());
  }
};

greeting words_for(const settings& where, const std::string& client_name) {
  greeting out;
  if (!where.user.empty())
    out.add({"AUTH", where.user, where.password});
  else if (!where.password.empty())
    out.add({"AUTH", where.password});
  const std::string number = std::to_string(where.database);
  if (where.database != 0) out.add({"SELECT", number});
  out.add({"CLIENT", "SETNAME", printable(client_name)});
  if (where.whom == settings::role::master) out.add({"ROLE"});
  if (where.tokens == token_source::quorum) {
    out.add({"INFO"});
    out.add({"CONFIG", "GET", "appendfsync"});
    // What follows a question there must not overtake it, as it would one whose script has to be sent again.
    const auto& known = scripts::all();
    for (const script* one : {&known.enter, &known.leave, &known.yield, &known.raise})
      out.add({"SCRIPT", "LOAD", one->text()});
  }
  return out;
}

result<void> judge(const settings& where, std::string_view verb, const reply& said) {
  if (!said.is_error()) {
    if (verb != "ROLE" || said.at(0).text() == "master") return {};
    return broken(where.address(), "the server is no master (" + std::string(said.at(0).text()) + ")");
  }
  // A name is a courtesy: a user without the right to set one may lock all the same. One without the right to ask for
  // the role learns it with the first write, and one that may not ask how long the server is up thinks it new.
  if (verb != "AUTH" && verb != "SELECT" && said.text().starts_with("NOPERM")) return {};
  failure why = verb == "AUTH" ? failure_of_auth(said.text()) : failure_of(said.text());
  why.detail = "redis " + where.address() + ": " + why.detail;
  return why;
}

}  // namespace

result<line> greet(const settings& where, const std::string& client_name, steady::time_point deadline) {
  auto made = reach(where, deadline);
  if (!made) return made;
  const greeting hello = words_for(where, client_name);
  auto said = ask(*made, hello.bytes, hello.verbs.size(), deadline);
  if (!said) return said.error();
  for (std::size_t i = 0; i < std::min(said->size(), hello.verbs.size()); ++i) {
    const reply& one = (*said)[i];
    if (auto good = judge(where, hello.verbs[i], one); !good) return good.error();
    if (one.is_error()) continue;
    if (hello.verbs[i] == "INFO") made->about.info = one.text();
    if (hello.verbs[i] == "CONFIG") made->about.fsync = one.at(1).text();
  }
  if (said->size() < hello.verbs.size()) return broken(where.address(), "the server closed the connection");
  if (said->size() > hello.verbs.size()) return broken(where.address(), "it answers what nobody asked");
  return made;
}

}  // namespace holdfast::redis
