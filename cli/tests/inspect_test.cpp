#include "cli_fixture.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <regex>
#include <set>

namespace holdfast::cli::testing {
namespace {

using nlohmann::json;

class inspect_commands : public cli_test {
 protected:
  static std::set<std::string> keys(const json& object) {
    std::set<std::string> found;
    for (const auto& [key, value] : object.items()) found.insert(key);
    return found;
  }
  static std::string own_host() {
    char name[256] = "";
    ::gethostname(name, sizeof name);
    return name;
  }
};

const std::set<std::string> entry_keys{"name", "kind", "holders", "waiters"};
const std::set<std::string> participant_keys{"owner", "token",     "host",   "pid",    "client_name",
                                             "since", "remaining", "shared", "permits"};

TEST_F(inspect_commands, ls_json_is_one_array_with_the_fields_of_inspect) {
  child holder = start_script("jobs/1", {}, "echo ready; read x");
  child waiter = start({"run", "jobs/1", "--", "true"});
  ASSERT_TRUE(eventually([&] { return show("jobs/1")["waiters"].size() == 1; }));
  const outcome end = run({"ls", "--json"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(std::ranges::count(end.out, '\n'), 1);
  const json all = json::parse(end.out);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(keys(all[0]), entry_keys);
  EXPECT_EQ(all[0]["name"], "jobs/1");
  EXPECT_EQ(all[0]["kind"], "mutex");
  const json& who = all[0]["holders"].at(0);
  EXPECT_EQ(keys(who), participant_keys);
  EXPECT_EQ(who["host"], own_host());
  EXPECT_EQ(who["client_name"], "sh");
  EXPECT_GT(who["token"].get<std::uint64_t>(), 0U);
  EXPECT_TRUE(
      std::regex_match(who["since"].get<std::string>(), std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)")));
  EXPECT_GT(who["remaining"].get<double>(), 0);
  EXPECT_LE(who["remaining"].get<double>(), 30);
  EXPECT_FALSE(who["shared"].get<bool>());
  EXPECT_EQ(who["permits"], 1);
  EXPECT_EQ(keys(all[0]["waiters"].at(0)), participant_keys);
  EXPECT_EQ(all[0]["waiters"][0]["token"], 0);
}

TEST_F(inspect_commands, ls_lists_what_starts_with_the_prefix) {
  child one = start_script("jobs/1", {}, "echo ready; read x");
  child two = start_script("jobs/2", {"--permits", "2", "--of", "3"}, "echo ready; read x");
  child other = start_script("other", {"--shared"}, "echo ready; read x");
  EXPECT_EQ(json::parse(run({"ls", "--json"}).out).size(), 3U);
  EXPECT_EQ(json::parse(run({"ls", "jobs/", "--json"}).out).size(), 2U);
  EXPECT_EQ(show("jobs/2")["holders"].at(0)["permits"], 2);
  EXPECT_EQ(show("other")["holders"].at(0)["shared"], true);
  const std::string text = run({"ls", "jobs/"}).out;
  EXPECT_NE(text.find("NAME"), std::string::npos) << text;
  EXPECT_NE(text.find("jobs/1"), std::string::npos) << text;
  EXPECT_NE(text.find("2 permits"), std::string::npos) << text;
  EXPECT_EQ(text.find("other"), std::string::npos) << text;
}

TEST_F(inspect_commands, an_empty_store_lists_nothing) {
  EXPECT_EQ(run({"ls"}).out, "");
  EXPECT_EQ(json::parse(run({"ls", "--json"}).out), json::array());
}

TEST_F(inspect_commands, a_free_name_is_free) {
  const outcome end = run({"show", "n"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(end.out, "free\n");
  EXPECT_EQ(show("n"), json::parse(R"({"name": "n", "kind": null, "holders": [], "waiters": []})"));
}

TEST_F(inspect_commands, show_is_about_one_name_only) {
  child longer = start_script("n/longer", {}, "echo ready; read x");
  EXPECT_EQ(run({"show", "n"}).out, "free\n");
  const std::string text = run({"show", "n/longer"}).out;
  EXPECT_NE(text.find("holds"), std::string::npos) << text;
  EXPECT_NE(text.find("sh on " + own_host()), std::string::npos) << text;
}

TEST_F(inspect_commands, every_name_comes_through_json_unharmed) {
  for (const std::string name :
       {"quote\"back\\slash", "\xE4\xBD\xA0\xE5\xA5\xBD \xF0\x9F\x94\x92", "--json", "-", "a b'c"}) {
    // Behind `--` no word is an option: ask run by way of a shell that has the name as an operand.
    if (name.starts_with("-")) {
      EXPECT_EQ(run({"show", "--", name}).out, "free\n") << name;
      continue;
    }
    child holder = start_script(name, {}, "echo ready; read x");
    EXPECT_EQ(show(name)["name"], name);
    EXPECT_EQ(show(name)["holders"].size(), 1U) << name;
  }
}

TEST_F(inspect_commands, watch_tells_of_grants_waits_and_releases_line_by_line) {
  child already = start_script("w/0", {}, "echo ready; read x");
  child watcher = start({"watch", "w/", "--json"});
  const auto next = [&] { return json::parse(watcher.read_line().value_or("{}")); };
  json news = next();
  EXPECT_EQ(keys(news), (std::set<std::string>{"what", "name", "lock_kind", "who"}));
  EXPECT_EQ(news["what"], "granted");
  EXPECT_EQ(news["name"], "w/0");
  EXPECT_EQ(news["lock_kind"], "mutex");
  EXPECT_EQ(keys(news["who"]), participant_keys);

  child unrelated = start_script("other", {}, "echo ready; read x");
  child waiter = start({"run", "w/0", "--", "sh", "-c", "read x"});
  news = next();
  EXPECT_EQ(news["what"], "waiting") << news;
  EXPECT_EQ(finish(std::move(already)).code, 1);
  const std::multiset<std::string> what{next()["what"], next()["what"]};
  EXPECT_EQ(what, (std::multiset<std::string>{"granted", "released"}));
  EXPECT_EQ(finish(std::move(waiter)).code, 1);
  news = next();
  EXPECT_EQ(news["what"], "released") << news;
  watcher.signal(SIGINT);
  EXPECT_EQ(watcher.wait(), -SIGINT);
}

TEST_F(inspect_commands, watch_prints_lines_for_people) {
  child holder = start_script("n", {}, "echo ready; read x");
  child watcher = start({"watch"});
  const std::string line = watcher.read_line().value_or("");
  EXPECT_NE(line.find("granted"), std::string::npos) << line;
  EXPECT_NE(line.find("  n  sh on "), std::string::npos) << line;
}

TEST_F(inspect_commands, evict_needs_a_yes_and_a_holder) {
  child holder = start_script("n", {}, "echo ready; read x");
  EXPECT_EQ(run({"evict", "n"}).code, 64);
  EXPECT_EQ(show("n")["holders"].size(), 1U);
  EXPECT_EQ(run({"evict", "n", "--yes"}).code, 0);
  EXPECT_EQ(holder.wait(), 76);
  const outcome again = run({"evict", "n", "--yes"});
  EXPECT_EQ(again.code, 1);
  EXPECT_NE(again.err.find("nobody holds 'n'"), std::string::npos) << again.err;
}

TEST_F(inspect_commands, stores_is_the_matrix_of_this_build) {
  const json all = json::parse(run({"stores", "--json"}).out);
  const auto sqlite = std::ranges::find_if(all, [](const json& s) { return s["scheme"] == "sqlite"; });
  ASSERT_NE(sqlite, all.end());
  for (const char* key : {"here", "mutex", "recursive_mutex", "shared_mutex", "counting_semaphore", "permit_semaphore",
                          "latch", "multi_mutex", "quorum_mutex", "striped_mutex", "cell", "fence", "fifo"}) {
    EXPECT_EQ(sqlite->at(key), true) << key;
  }
  const auto file = std::ranges::find_if(all, [](const json& s) { return s["scheme"] == "file"; });
  ASSERT_NE(file, all.end());
  EXPECT_EQ(file->at("fifo"), false);
  const outcome text = run({"stores"});
  EXPECT_EQ(text.code, 0);
  EXPECT_TRUE(text.out.starts_with("STORE")) << text.out;
}

TEST_F(inspect_commands, doctor_finds_a_private_store_good) {
  const outcome end = run({"doctor", "--json"});
  EXPECT_EQ(end.code, 0) << end.out << end.err;
  const json report = json::parse(end.out);
  EXPECT_EQ(report["url"], "sqlite://" + path("locks.db"));
  EXPECT_GT(report["findings"].size(), 3U);
  for (const json& one : report["findings"]) EXPECT_EQ(one["level"], "fact") << one;
  EXPECT_NE(run({"doctor"}).out.find("write-ahead log"), std::string::npos);
}

TEST_F(inspect_commands, doctor_finds_a_store_others_can_write_dangerous) {
  ASSERT_EQ(run({"ls", "--store", "file://" + path("files")}).code, 0);
  ASSERT_EQ(::chmod(path("files").c_str(), 0777), 0);
  const outcome end = run({"doctor", "--store", "file://" + path("files")});
  EXPECT_TRUE((end.code == 1 && end.out.find("danger") != std::string::npos) || end.code == 69)
      << "found dangerous, or refused by the store itself: " << end.code << end.out << end.err;
}

TEST_F(inspect_commands, doctor_says_69_of_a_store_it_cannot_reach) {
  EXPECT_EQ(run({"doctor", "--store", "sqlite:///proc/nowhere/locks.db"}).code, 69);
}

}  // namespace
}  // namespace holdfast::cli::testing
