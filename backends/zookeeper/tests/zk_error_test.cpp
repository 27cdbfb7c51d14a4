#include "zk_error.hpp"

#include <zookeeper/zookeeper.h>

#include <gtest/gtest.h>

namespace holdfast::zookeeper {

struct error_case {
  int native;
  errc code;
};

TEST(zookeeper_error, every_code_has_its_meaning) {
  for (const auto& [native, code] : {
           error_case{ZCONNECTIONLOSS, errc::unavailable},
           {ZOPERATIONTIMEOUT, errc::unavailable},
           {ZSESSIONEXPIRED, errc::unavailable},
           {ZSESSIONMOVED, errc::unavailable},
           {ZINVALIDSTATE, errc::unavailable},
           {ZCLOSING, errc::unavailable},
           {-119, errc::unavailable},
           {-127, errc::unavailable},
           {ZNOAUTH, errc::rejected},
           {ZAUTHFAILED, errc::rejected},
           {ZINVALIDACL, errc::rejected},
           {ZNOCHILDRENFOREPHEMERALS, errc::rejected},
           {ZNONODE, errc::rejected},
           {ZNODEEXISTS, errc::rejected},
           {ZBADVERSION, errc::rejected},
           {ZBADARGUMENTS, errc::rejected},
           {ZMARSHALLINGERROR, errc::rejected},
           {ZUNIMPLEMENTED, errc::unsupported},
           {-9999, errc::rejected},
       }) {
    const failure f = failure_of(native, "entering 'x'");
    EXPECT_EQ(f.code, code) << native;
    EXPECT_NE(f.detail.find(std::to_string(native)), std::string::npos) << f.detail;
    EXPECT_NE(f.detail.find("entering 'x'"), std::string::npos) << f.detail;
    EXPECT_EQ(outcome_unknown(native), code == errc::unavailable) << native;
  }
}

TEST(zookeeper_error, an_answer_is_no_unknown_outcome) { EXPECT_FALSE(outcome_unknown(ZOK)); }

}  // namespace holdfast::zookeeper
