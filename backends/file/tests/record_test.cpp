#include "record.hpp"

#include <gtest/gtest.h>

#include <stdlib.h>
#include <unistd.h>

#include <string>

namespace holdfast::file {
namespace {

class record : public ::testing::Test {
 protected:
  record() {
    char path[] = "/tmp/holdfast-record-XXXXXX";
    fd = ::mkstemp(path);
    ::unlink(path);
  }
  ~record() override { ::close(fd); }

  static holder somebody() {
    holder who;
    who.owner = spi::owner_id::random();
    who.token = 77;
    who.pid = 4711;
    who.process_start = 99;
    who.since = std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000));
    who.ttl = std::chrono::seconds(30);
    who.access = spi::access::shared;
    who.permits = 3;
    who.host = "machine";
    who.client_name = "worker";
    return who;
  }
  static void expect_same(const std::optional<holder>& a, const holder& b) {
    ASSERT_TRUE(a);
    EXPECT_EQ(a->owner, b.owner);
    EXPECT_EQ(a->token, b.token);
    EXPECT_EQ(a->pid, b.pid);
    EXPECT_EQ(a->process_start, b.process_start);
    EXPECT_EQ(a->since, b.since);
    EXPECT_EQ(a->ttl, b.ttl);
    EXPECT_EQ(a->access, b.access);
    EXPECT_EQ(a->permits, b.permits);
    EXPECT_EQ(a->host, b.host);
    EXPECT_EQ(a->client_name, b.client_name);
  }

  int fd = -1;
};

TEST_F(record, an_empty_file_is_new) {
  EXPECT_EQ(read_header(fd).value().name_length, 0u);
  EXPECT_FALSE(read_exclusive_holder(fd));
  EXPECT_FALSE(read_slot(fd, 0));
}

TEST_F(record, zeros_are_new) {
  ASSERT_EQ(::ftruncate(fd, 8192), 0);
  EXPECT_EQ(read_header(fd).value().name_length, 0u);
  EXPECT_FALSE(read_exclusive_holder(fd)) << "zeros are not a holder";
}

TEST_F(record, what_is_written_is_read) {
  const header h{spi::kind::permits, 5, 1234567890123, 4};
  ASSERT_TRUE(write_name(fd, "name"));
  ASSERT_TRUE(write_header(fd, h, somebody()));
  const auto read = read_header(fd).value();
  EXPECT_EQ(read.kind, h.kind);
  EXPECT_EQ(read.limit, h.limit);
  EXPECT_EQ(read.last_token, h.last_token);
  EXPECT_EQ(read_name(fd, read).value(), "name");
}

TEST_F(record, holders_come_back_from_every_place) {
  const holder a = somebody(), b = somebody(), c = somebody();
  ASSERT_TRUE(write_header(fd, {spi::kind::mutex, 0, 1, 1}, a));
  ASSERT_TRUE(write_slot(fd, 7, b));
  ASSERT_TRUE(write_waiter(fd, 4001, c));
  expect_same(read_exclusive_holder(fd), a);
  expect_same(read_slot(fd, 7), b);
  EXPECT_EQ(read_waiter(fd, 4001)->owner, c.owner);
  EXPECT_FALSE(read_waiter(fd, 2001)) << "the place is another ticket's";
}

TEST_F(record, long_texts_are_cut_between_characters) {
  holder who = somebody();
  who.host = std::string(62, 'h') + "\xC3\xA9\xC3\xA9";
  who.client_name = std::string(500, 'c');
  ASSERT_TRUE(write_slot(fd, 0, who));
  const auto read = read_slot(fd, 0);
  EXPECT_EQ(read->host, std::string(62, 'h'));
  EXPECT_EQ(read->client_name, std::string(127, 'c'));
}

TEST_F(record, a_holder_that_is_half_written_is_none) {
  ASSERT_TRUE(write_slot(fd, 0, somebody()));
  ASSERT_EQ(::pwrite(fd, "torn", 4, slot_offset(0) + 20), 4);
  EXPECT_FALSE(read_slot(fd, 0));
}

TEST_F(record, foreign_content_is_refused) {
  ASSERT_EQ(::pwrite(fd, "#!/bin/sh\n", 10, 0), 10);
  EXPECT_EQ(read_header(fd).error().code, errc::rejected);
}

TEST_F(record, a_format_of_the_future_is_refused_by_its_number) {
  ASSERT_TRUE(write_header(fd, {spi::kind::mutex, 0, 1, 1}, somebody()));
  const std::uint32_t version = 9;
  ASSERT_EQ(::pwrite(fd, &version, sizeof version, 8), 4);
  const auto read = read_header(fd);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, errc::rejected);
  EXPECT_NE(read.error().detail.find("format 9"), std::string::npos);
}

TEST_F(record, tickets_follow_each_other) {
  EXPECT_EQ(draw_ticket(fd).value(), 1u);
  EXPECT_EQ(draw_ticket(fd).value(), 2u);
  const std::uint64_t damaged = UINT64_MAX;
  ASSERT_EQ(::pwrite(fd, &damaged, sizeof damaged, ticket_offset), 8);
  EXPECT_LE(draw_ticket(fd).value(), std::uint64_t{1} << 48);
}

}  // namespace
}  // namespace holdfast::file
