#include "sqlite_fixture.hpp"

#include <limits>

namespace holdfast::sqlite_tests {

class register_test : public sqlite_test {
 protected:
  spi::cell_value load(sqlite_client& c, const std::string& name) {
    answer<spi::cell_value> got;
    c.store().load_cell(name, spi::caller::may_block, got.slot());
    return got.wait().value();
  }
  bool exchange(sqlite_client& c, const std::string& name, std::uint64_t expected, std::string value,
                spi::owner_id id = spi::owner_id::random()) {
    answer<bool> got;
    c.store().exchange_cell(name, expected, std::move(value), id, spi::caller::must_not_block, got.slot());
    return got.wait().value();
  }
  std::uint64_t admit(sqlite_client& c, std::uint64_t token) {
    answer<fencing_token> got;
    c.store().admit("fence", token, spi::caller::may_block, got.slot());
    return got.wait()->value();
  }
};

TEST_F(register_test, a_cell_changes_only_from_the_version_that_was_read) {
  auto a = client();
  EXPECT_EQ(load(*a, "c").version, 0U);
  EXPECT_FALSE(exchange(*a, "c", 1, "x"));
  EXPECT_TRUE(exchange(*a, "c", 0, "one"));
  EXPECT_FALSE(exchange(*a, "c", 0, "again"));
  EXPECT_TRUE(exchange(*a, "c", 1, ""));
  EXPECT_EQ(load(*a, "c").value, "");
  EXPECT_EQ(load(*a, "c").version, 2U);
  EXPECT_FALSE(exchange(*a, "c", std::numeric_limits<std::uint64_t>::max(), "x"));
}

TEST_F(register_test, a_cell_holds_any_bytes) {
  auto a = client();
  auto b = client();
  std::string bytes(1 << 20, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  EXPECT_TRUE(exchange(*a, "c", 0, bytes));
  EXPECT_EQ(load(*b, "c").value, bytes);
}

TEST_F(register_test, an_exchange_sent_again_finds_that_it_is_done) {
  auto a = client();
  const auto id = spi::owner_id::random();
  EXPECT_TRUE(exchange(*a, "c", 0, "one", id));
  EXPECT_TRUE(exchange(*a, "c", 0, "one", id));
  EXPECT_EQ(load(*a, "c").version, 1U);
}

TEST_F(register_test, a_fence_only_rises_over_the_whole_range) {
  auto a = client();
  auto b = client();
  EXPECT_EQ(admit(*a, 0), 0U);
  EXPECT_EQ(admit(*a, 5), 5U);
  EXPECT_EQ(admit(*b, 4), 5U);
  EXPECT_EQ(admit(*b, 5), 5U);
  const auto high = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(admit(*b, high - 1), high - 1);
  EXPECT_EQ(admit(*a, 300), high - 1);
  EXPECT_EQ(admit(*a, 0), high - 1);
}

}  // namespace holdfast::sqlite_tests
