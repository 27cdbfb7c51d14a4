#include "names.hpp"

#include <gtest/gtest.h>

namespace holdfast::zookeeper {

TEST(zookeeper_names, a_name_is_the_path_where_curator_looks_for_it) {
  EXPECT_EQ(path_of("", "orders/42"), "/orders/42");
  EXPECT_EQ(path_of("/app", "orders"), "/app/orders");
  EXPECT_EQ(path_of("", "locks/a b:c=50%"), "/locks/a b:c=50%");
  EXPECT_EQ(path_of("", "Ж"), "/Ж");
}

TEST(zookeeper_names, what_a_path_cannot_have_is_escaped) {
  EXPECT_EQ(path_of("", "."), "/%2e");
  EXPECT_EQ(path_of("", ".."), "/%2e.");
  EXPECT_EQ(path_of("", "..."), "/...");
  EXPECT_EQ(path_of("", "a//b/"), "/a/%00/b/%00");
  EXPECT_EQ(path_of("", "/"), "/%00/%00");
  EXPECT_EQ(path_of("", "\U0001F512"), "/%f0%9f%94%92");
  EXPECT_EQ(path_of("", "%2e"), "/%252e");
  EXPECT_EQ(path_of("", "\u0085"), "/%c2%85");
  EXPECT_EQ(path_of("", "\uE000"), "/%ee%80%80");
}

TEST(zookeeper_names, what_would_be_taken_for_something_else_is_escaped) {
  EXPECT_EQ(path_of("", "zookeeper/quota"), "/%7aookeeper/quota");
  EXPECT_EQ(path_of("", "a/zookeeper"), "/a/zookeeper");
  EXPECT_EQ(path_of("", "_holdfast"), "/%5fholdfast");
  EXPECT_EQ(path_of("", "a/lock-0000000001"), "/a/%6cock-0000000001");
  EXPECT_EQ(path_of("", "a/lock-1"), "/a/lock-1");
}

TEST(zookeeper_names, every_path_leads_back_to_its_name) {
  for (const std::string name : {"a", "a/b", "/a", "a/", "//", ".", "..", "%", "%%41", "%00", "zookeeper",
                                 "\U0001F512x", "a/_c_x-lock-0000000001", "50%/x"}) {
    EXPECT_EQ(name_of("/root", path_of("/root", name)), name);
    EXPECT_EQ(name_of("", "/" + component_of(name)), name);
  }
  EXPECT_EQ(name_of("/root", "/rooted/a"), std::nullopt);
  EXPECT_EQ(name_of("/root", "/root"), std::nullopt);
}

TEST(zookeeper_names, a_name_in_one_component_has_no_slash) {
  EXPECT_EQ(component_of("a/b"), "a%2fb");
  EXPECT_EQ(component_of(".."), "%2e.");
}

}  // namespace holdfast::zookeeper
