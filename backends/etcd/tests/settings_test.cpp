#include "settings.hpp"

#include <holdfast/testing/temporary_directory.hpp>

#include <gtest/gtest.h>

#include <fstream>

namespace holdfast::etcd {

namespace {

result<settings> read(const std::string& url) { return settings::from(uri::parse(url).value()); }

/// The text of the refusal.
std::string refused(const std::string& url) {
  const auto said = read(url);
  EXPECT_FALSE(said) << url;
  if (said) return {};
  EXPECT_EQ(said.error().code, make_error_code(errc::invalid_argument));
  return said.error().detail;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(etcd_settings, every_part_is_read) {
  const auto one = read("etcd://127.0.0.1").value();
  EXPECT_EQ(one.endpoints, std::vector<std::string>{"127.0.0.1:2379"});
  EXPECT_FALSE(one.tls);
  EXPECT_EQ(one.tokens, token_source::block);
  const auto all = read("etcd://me:secret@a:1,[::1]:2,c/?namespace=team%2Fa%2F&tokens=revision").value();
  EXPECT_EQ(all.endpoints, (std::vector<std::string>{"a:1", "[::1]:2", "c:2379"}));
  EXPECT_EQ(all.user, "me");
  EXPECT_EQ(all.password, "secret");
  EXPECT_EQ(all.prefix, "team/a/");
  EXPECT_EQ(all.tokens, token_source::revision);
  EXPECT_EQ(all.shown(), "a:1,[::1]:2,c:2379");
  EXPECT_TRUE(read("etcds://a").value().tls);
}

TEST(etcd_settings, a_password_may_lie_in_a_file) {
  const testing::temporary_directory directory;
  const std::string file = (directory.path() / "password").string();
  std::ofstream(file) << "from-file\n";
  EXPECT_EQ(read("etcd://me@a?password-file=" + file).value().password, "from-file");
  EXPECT_PRED2(has, refused("etcd://me:x@a?password-file=" + file), "password and a password-file");
  EXPECT_PRED2(has, refused("etcd://me@a?password-file=/nonexistent"), "cannot be read");
}

TEST(etcd_settings, what_is_wrong_is_named) {
  EXPECT_PRED2(has, refused("etcd:"), "needs a host");
  EXPECT_PRED2(has, refused("etcd://a,a"), "named twice");
  EXPECT_PRED2(has, refused("etcd://a/b"), "?namespace=b/");
  EXPECT_PRED2(has, refused("etcd://me@a"), "without a password");
  EXPECT_PRED2(has, refused("etcd://a?tokens=x"), "tokens='x'");
  EXPECT_PRED2(has, refused("etcd://a?namespace="), "namespace= is empty");
  EXPECT_PRED2(has, refused("etcd://a?ca-file=x"), "write etcds:");
  EXPECT_PRED2(has, refused("etcds://a?ca-file=/nonexistent"), "cannot be read");
  EXPECT_PRED2(has, refused("etcds://a?cert-file=/etc/hostname"), "without its key-file");
  EXPECT_PRED2(has, refused("etcd://a?colour=blue"), "colour");
  EXPECT_FALSE(has(refused("etcd://me:hunter2@a?colour=blue"), "hunter2"));
}

}  // namespace holdfast::etcd
