#include "keys.hpp"

#include <gtest/gtest.h>

namespace holdfast::etcd {

using form = keys::form;

TEST(etcd_keys, a_range_ends_before_what_does_not_begin_so) {
  EXPECT_EQ(everything_below("ab").end, "ac");
  EXPECT_EQ(everything_below("a\xff").end, "b");
  EXPECT_EQ(everything_below("\xff\xff").end, std::string(1, '\0'));
  EXPECT_EQ(everything_below("").first, std::string(1, '\0'));
  EXPECT_EQ(everything_below("").end, std::string(1, '\0'));
}

TEST(etcd_keys, a_mutex_is_called_as_go_calls_it) {
  const keys names("");
  EXPECT_EQ(hex(0x694d8a1f2c3b4d05), "694d8a1f2c3b4d05");
  EXPECT_EQ(names.mutex("mylock", 0x694d8a1f2c3b4d05, 0), "mylock/694d8a1f2c3b4d05");
  EXPECT_EQ(names.mutex("mylock", 0x1f, 1), "mylock/1f-2");
  EXPECT_EQ(keys("team/").mutex("/a", 1, 0), "team//a/1");
}

TEST(etcd_keys, what_is_in_a_line_is_told_from_what_belongs_to_longer_names) {
  const keys names("");
  EXPECT_EQ(names.form_of("a", "a/1f"), form::mutex);
  EXPECT_EQ(names.form_of("a", names.mutex("a", 7, 3)), form::mutex);
  EXPECT_EQ(names.form_of("a", "a/anything"), form::mutex);
  EXPECT_EQ(names.form_of("a", "a/read/1700000000000000000"), form::reader);
  EXPECT_EQ(names.form_of("a", "a/write/1700000000000000000"), form::writer);
  EXPECT_EQ(names.form_of("a", "a/read/694d8a1f2c3b4d05"), form::nested) << "the mutex a/read";
  EXPECT_EQ(names.form_of("a", "a/b/1f"), form::nested);
  EXPECT_EQ(names.form_of("a", "a//1f"), form::nested);
}

TEST(etcd_keys, a_key_tells_its_lock) {
  const keys names("");
  EXPECT_EQ(names.place_of("orders/42/1f", 0x1f)->name, "orders/42");
  EXPECT_EQ(names.place_of("orders/42/1f-2", 0x1f)->name, "orders/42");
  EXPECT_EQ(names.place_of("//1f", 0x1f)->name, "/");
  EXPECT_EQ(names.place_of("a/read/1700000000000000000", 9)->what, form::reader);
  EXPECT_EQ(names.place_of("a/write/1700000000000000000", 9)->name, "a");
  EXPECT_FALSE(names.place_of("orders/42/1f", 0x2f)) << "of another program";
  EXPECT_FALSE(names.place_of("orders/42/1f", 0)) << "nobody's";
  EXPECT_FALSE(names.place_of("1f", 0x1f));
  EXPECT_FALSE(names.place_of("/1f", 0x1f)) << "there is no empty name";
  EXPECT_FALSE(keys("x/").place_of("y/a/1f", 0x1f)) << "of another namespace";
}

TEST(etcd_keys, what_only_we_have_is_below_its_own_name) {
  const keys names("ns/");
  const auto key = names.permits("a/b") + "id";
  EXPECT_EQ(names.other_place_of(key)->name, "a/b");
  EXPECT_EQ(names.other_place_of(key)->what, "permit\tid");
  EXPECT_FALSE(names.other_place_of("ns/a/b"));
  EXPECT_EQ(kind_of_other("permit\tid", ""), spi::kind::permits);
  EXPECT_EQ(kind_of_other("latch", "3"), spi::kind::latch);
  EXPECT_EQ(kind_of_other("semaphore", "3"), spi::kind::semaphore);
  EXPECT_EQ(kind_of_other("wait\tid", "holdfast\tid=x\tlimit=0\tpermits=1"), spi::kind::semaphore);
  EXPECT_EQ(kind_of_other("wait\tid", "holdfast\tid=x\tlimit=3\tpermits=1"), spi::kind::permits);
  EXPECT_FALSE(kind_of_other("else", ""));
}

}  // namespace holdfast::etcd
