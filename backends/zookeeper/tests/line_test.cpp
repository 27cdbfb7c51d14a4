#include "line.hpp"

#include <gtest/gtest.h>

namespace holdfast::zookeeper {

namespace {

using names = std::vector<std::string>;

std::string node(char who, const std::string& rest) {
  return "_c_" + std::string(8, who) + "-0000-4000-8000-000000000000-" + rest;
}

}  // namespace

TEST(zookeeper_line, the_sequence_orders_and_what_stands_before_it_does_not) {
  const names children{node('a', "lock-0000000009"), node('f', "lock-0000000007"), node('c', "lock-0000000008")};
  EXPECT_EQ(judge(children, children[1]).what, verdict::is::holding);
  const auto second = judge(children, children[2]);
  EXPECT_EQ(second.what, verdict::is::waiting);
  EXPECT_EQ(second.who, children[1]);
  EXPECT_TRUE(second.next);
  const auto third = judge(children, children[0]);
  EXPECT_EQ(third.who, children[2]) << "the nearest before it, so that one is woken at a time";
  EXPECT_FALSE(third.next);
}

TEST(zookeeper_line, go_clients_nodes_stand_in_the_same_line) {
  const names children{"_c_0123456789abcdef0123456789abcdef-lock-0000000001", node('a', "lock-0000000002")};
  EXPECT_EQ(judge(children, children[1]).who, children[0]);
}

TEST(zookeeper_line, a_node_that_is_not_there_is_missing) {
  EXPECT_EQ(judge({}, node('a', "lock-0000000001")).what, verdict::is::missing);
}

TEST(zookeeper_line, children_that_are_no_contenders_do_not_count) {
  const names children{"more", "0", "-", node('a', "lock-0000000003")};
  EXPECT_EQ(judge(children, children[3]).what, verdict::is::holding);
}

TEST(zookeeper_line, readers_wait_for_the_nearest_writer_before_them) {
  const names children{node('a', "__READ__0000000001"), node('b', "__WRIT__0000000002"),
                       node('c', "__READ__0000000003"), node('d', "__WRIT__0000000004"),
                       node('e', "__READ__0000000005")};
  EXPECT_EQ(judge(children, children[0]).what, verdict::is::holding);
  EXPECT_EQ(judge(children, children[1]).who, children[0]);
  EXPECT_EQ(judge(children, children[2]).who, children[1]);
  EXPECT_EQ(judge(children, children[3]).who, children[2]);
  EXPECT_EQ(judge(children, children[4]).who, children[3]);
  EXPECT_FALSE(judge(children, children[1]).next) << "a reader may take the place of the one that goes";
}

TEST(zookeeper_line, a_writer_that_became_a_reader_keeps_its_place) {
  const names children{node('a', "__READ__0000000001"), node('a', "__WRIT__0000000001"),
                       node('b', "__READ__0000000002")};
  EXPECT_EQ(judge(children, children[0]).what, verdict::is::holding);
  EXPECT_EQ(judge(children, children[2]).who, children[1]);
}

TEST(zookeeper_line, other_families_before_it_are_refused_and_those_behind_it_refuse_themselves) {
  const std::string ours = node('a', "lock-0000000005");
  for (const std::string& other : {node('b', "__READ__0000000004"), node('b', "__WRIT__0000000004"),
                                   std::string("0123456789abcdef0123456789abcdef__lock__0000000004"),
                                   std::string("0123456789abcdef0123456789abcdef__rlock__0000000004"),
                                   node('b', "latch-0000000004"), std::string("x-123456-0000000004")}) {
    EXPECT_EQ(judge({ours, other}, ours).what, verdict::is::mixed) << other;
    EXPECT_EQ(judge({ours, other}, ours).who, other);
  }
  EXPECT_EQ(judge({ours, node('b', "__WRIT__0000000006")}, ours).what, verdict::is::holding);
}

TEST(zookeeper_line, a_sequence_after_the_last_is_refused) {
  const std::string first = node('a', "lock-2147483647");
  const std::string second = node('b', "lock--2147483648");
  EXPECT_EQ(judge({first, second}, first).what, verdict::is::overflow);
  EXPECT_EQ(judge({first, second}, second).what, verdict::is::overflow);
  EXPECT_TRUE(judge({first}, first).nearly_overflown);
  EXPECT_FALSE(judge({node('a', "lock-0000000001")}, node('a', "lock-0000000001")).nearly_overflown);
}

TEST(zookeeper_line, the_owner_is_found_in_a_protected_name) {
  const auto id = spi::owner_id::random();
  const std::string mark = protection(id);
  EXPECT_EQ(mark.size(), 40u) << "as Curator's";
  EXPECT_EQ(owner_in(mark + "lock-0000000001"), id);
  EXPECT_EQ(owner_in("lock-0000000001"), std::nullopt);
  EXPECT_EQ(owner_in("_c_0123456789abcdef0123456789abcdef-lock-0000000001"), std::nullopt);
}

TEST(zookeeper_line, those_who_hold_are_the_first_or_all_readers_before_a_writer) {
  EXPECT_EQ(holding({}), 0u);
  EXPECT_EQ(holding(line_of({node('a', "lock-0000000001"), node('b', "lock-0000000002")}, family::lock)), 1u);
  EXPECT_EQ(holding(line_of(
                {node('a', "__READ__0000000001"), node('b', "__READ__0000000002"), node('c', "__WRIT__0000000003")},
                family::read_write)),
            2u);
}

}  // namespace holdfast::zookeeper
