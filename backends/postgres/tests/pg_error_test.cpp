#include "pg_error.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::postgres {

struct known_state {
  std::string state;
  errc code;
};

class every_state : public ::testing::TestWithParam<known_state> {};

TEST_P(every_state, has_its_meaning_and_is_kept_in_the_text) {
  const failure why = failure_of(GetParam().state, "the server's words\nand more");
  EXPECT_EQ(why.code, make_error_code(GetParam().code)) << why.detail;
  EXPECT_NE(why.detail.find(GetParam().state), std::string::npos) << why.detail;
  EXPECT_NE(why.detail.find("the server's words and more"), std::string::npos) << why.detail;
}

// What passes is tried again by the engine; what needs somebody is told at once.
INSTANTIATE_TEST_SUITE_P(
    table, every_state,
    ::testing::Values(known_state{"40P01", errc::unavailable}, known_state{"40001", errc::unavailable},
                      known_state{"40003", errc::unavailable}, known_state{"55P03", errc::unavailable},
                      known_state{"57014", errc::unavailable}, known_state{"57P01", errc::unavailable},
                      known_state{"57P02", errc::unavailable}, known_state{"57P03", errc::unavailable},
                      known_state{"57P05", errc::unavailable}, known_state{"53300", errc::unavailable},
                      known_state{"25006", errc::unavailable}, known_state{"26000", errc::unavailable},
                      known_state{"42P05", errc::unavailable}, known_state{"08006", errc::unavailable},
                      known_state{"08P01", errc::unavailable}, known_state{"XX000", errc::unavailable},
                      known_state{"53100", errc::rejected}, known_state{"53200", errc::rejected},
                      known_state{"28P01", errc::rejected}, known_state{"28000", errc::rejected},
                      known_state{"3D000", errc::rejected}, known_state{"3F000", errc::rejected},
                      known_state{"42501", errc::rejected}, known_state{"42P01", errc::rejected},
                      known_state{"42883", errc::rejected}, known_state{"22003", errc::rejected},
                      known_state{"XX001", errc::rejected}),
    [](const auto& one) { return "state_" + one.param.state; });

TEST(pg_error, what_libpq_says_by_itself_is_about_the_connection) {
  EXPECT_EQ(failure_of("", "server closed the connection unexpectedly").code, make_error_code(errc::unavailable));
}

TEST(pg_error, a_missing_right_names_the_way_out) {
  EXPECT_NE(failure_of("42501", "permission denied").detail.find("holdfast ddl postgresql"), std::string::npos);
}

}  // namespace holdfast::postgres
