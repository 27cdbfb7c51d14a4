#include <holdfast/holdfast.hpp>
#include <holdfast/testing/expectations.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

// What connect() makes of URLs that no store can be made from.

namespace holdfast::testing {

namespace {

struct malformed {
  std::string url;
  std::string names;  ///< What the error's text must name.
};

const std::vector<malformed>& malformed_urls() {
  static const std::vector<malformed> urls{
      {"", ""},
      {"nonsense", "scheme"},
      {"/tmp/locks.db", ""},
      {"://host", ""},
      {"1redis://host", ""},
      {"carrier-pigeon://coop", "carrier-pigeon"},
      {"sqlite:", "path"},
      {"sqlite://", "path"},
      {"sqlite:relative.db", ""},
      {"sqlite://host/tmp/x.db", "host"},
      {"sqlite:///tmp/%zz.db", "%"},
      {"sqlite:///tmp/%0", "%"},
      {"sqlite:///tmp/x.db?colour=red", "colour"},
      {"sqlite:///tmp/x.db?colour", "colour"},
      {"sqlite:///tmp/a%00b.db", ""},
      {"file:", "directory"},
      {"file://", "directory"},
      {"file:relative", ""},
      {"file:///tmp/x?colour=red", "colour"},
      {"memory:x?colour=red", "colour"},
      {"redis://host:port", "port"},
      {"redis://host:99999", "port"},
      {"redis://host:-1", "port"},
      {"redis://[::1", "]"},
      {"redis://user@", ""},
  };
  return urls;
}

/// The code and text of what connect() throws.
std::pair<std::error_code, std::string> refusal_of(const std::string& url) {
  try {
    static_cast<void>(connect(url));
  } catch (const error& thrown) {
    return {thrown.code(), thrown.what()};
  }
  return {};
}

}  // namespace

TEST(url_test, malformed_urls_are_refused_and_the_wrong_part_is_named) {
  for (const auto& [url, names] : malformed_urls()) {
    SCOPED_TRACE(url);
    const auto [code, text] = refusal_of(url);
    EXPECT_TRUE(code == make_error_code(errc::invalid_argument) || code == make_error_code(errc::unsupported)) << text;
    EXPECT_NE(text.find(names), std::string::npos) << text;
  }
}

TEST(url_test, an_unknown_scheme_is_told_with_the_known_ones) {
  const auto [code, text] = refusal_of("carrier-pigeon://coop");
  EXPECT_TRUE(code == make_error_code(errc::invalid_argument) || code == make_error_code(errc::unsupported)) << text;
  EXPECT_NE(text.find("sqlite"), std::string::npos) << "the text says what would be right: " << text;
}

TEST(url_test, passwords_never_appear_in_errors) {
  for (const std::string url :
       {"redis://user:hunter2@host:bad", "redis://:hunter2@host:99999", "pigeon://user:hunter2@coop",
        "redis://user:hunter2@[::1", "redis://user:hunter2@host:1?colour=red",
        "postgresql://user:hunter2@host:1/x?a=%zz", "sqlite:///tmp/x.db?password=hunter2",
        "mysql://user:hunter2@host:1/db", "user:hunter2@host", "redis:user:hunter2@host"}) {
    const auto [code, text] = refusal_of(url);
    EXPECT_TRUE(code) << url;
    EXPECT_EQ(text.find("hunter2"), std::string::npos) << text;
  }
}

TEST(url_test, a_store_that_cannot_be_made_is_an_error_and_not_a_hang) {
  const temporary_directory directory;
  const std::string a_directory = directory.path().string();
  for (const std::string& url : {"sqlite://" + a_directory, std::string("sqlite:///proc/x.db"),
                                 std::string("file:///proc/x"), std::string("file:///dev/null")}) {
    SCOPED_TRACE(url);
    const auto [code, text] = refusal_of(url);
    EXPECT_TRUE(code == make_error_code(errc::rejected) || code == make_error_code(errc::unavailable) ||
                code == make_error_code(errc::invalid_argument))
        << code.message() << text;
  }
}

TEST(url_test, the_environment_names_the_default_store) {
  const temporary_directory directory;
  const std::string url = "sqlite://" + (directory.path() / "mine.db").string();
  ASSERT_EQ(::setenv("HOLDFAST_STORE", url.c_str(), 1), 0);
  EXPECT_EQ(default_url(), url);
  EXPECT_EQ(connect().url(), url);
  ASSERT_EQ(::setenv("HOLDFAST_STORE", "nonsense", 1), 0);
  EXPECT_TRUE(throws(errc::invalid_argument, [] { return connect(); }));
  ASSERT_EQ(::unsetenv("HOLDFAST_STORE"), 0);
}

TEST(url_test, without_a_url_there_is_a_private_store_per_user) {
  const temporary_directory directory;
  ASSERT_EQ(::unsetenv("HOLDFAST_STORE"), 0);
  ASSERT_EQ(::setenv("XDG_STATE_HOME", directory.path().c_str(), 1), 0);
  EXPECT_EQ(default_url().find("sqlite://" + directory.path().string()), 0u) << default_url();
  mutex m(connect(), "first");
  EXPECT_TRUE(m.try_acquire());
  const std::string file = default_url().substr(std::string("sqlite://").size());
  const auto others = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
  EXPECT_EQ(std::filesystem::status(file).permissions() & others, std::filesystem::perms::none);
  const auto parent = std::filesystem::path(file).parent_path();
  EXPECT_EQ(std::filesystem::status(parent).permissions() & others, std::filesystem::perms::none);
}

}  // namespace holdfast::testing
