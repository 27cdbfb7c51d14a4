#include <holdfast/backend.hpp>
#include <holdfast/testing/conformance.hpp>

#include <algorithm>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

std::string scheme_of(const std::string& url) { return url.substr(0, url.find(':')); }

}  // namespace

TEST_P(capability_conformance, the_store_says_what_it_can_do_and_the_suite_agrees) {
  if (store().url().find('?') != std::string::npos) GTEST_SKIP() << "it is said of a store with default options";
  const auto all = spi::all_backends();
  const auto ours = std::find_if(all.begin(), all.end(),
                                 [&](const spi::registration& r) { return r.scheme == scheme_of(store().url()); });
  ASSERT_NE(ours, all.end());
  EXPECT_NE(ours->make, nullptr);
  EXPECT_FALSE(ours->note.empty());
  const spi::capabilities expected = supports();
  EXPECT_EQ(ours->supports.mutex, expected.mutex);
  EXPECT_EQ(ours->supports.shared_mutex, expected.shared_mutex);
  EXPECT_EQ(ours->supports.permits, expected.permits);
  EXPECT_EQ(ours->supports.semaphore, expected.semaphore);
  EXPECT_EQ(ours->supports.latch, expected.latch);
  EXPECT_EQ(ours->supports.cell, expected.cell);
  EXPECT_EQ(ours->supports.fence, expected.fence);
  EXPECT_EQ(ours->supports.fifo, expected.fifo);
  EXPECT_EQ(ours->supports.raise_token, expected.raise_token);
}

TEST_P(capability_conformance, the_url_of_a_client_is_the_one_it_was_given) {
  EXPECT_EQ(connect().url(), store().url());
}

TEST_P(capability_conformance, impossible_client_options_are_refused) {
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { return connect({.ttl = 0s}); }));
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { return connect({.ttl = -1s}); }));
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { return connect({.ttl = 9ms}); }));
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { return connect({.ttl = 24h * 365}); }));
}

TEST_P(capability_conformance, an_unknown_option_of_the_url_is_refused_by_its_name) {
  const std::string given = store().url();
  const std::string url = given + (given.find('?') == std::string::npos ? "?bogus=1" : "&bogus=1");
  EXPECT_TRUE(throws(errc::invalid_argument, [&] { return holdfast::connect(url); }));
  EXPECT_NE(error_text([&] { return holdfast::connect(url); }).find("bogus"), std::string::npos);
}

TEST_P(capability_conformance, stores_of_different_urls_know_nothing_of_each_other) {
  const std::string name = unique_name("other-store");
  mutex here(store().make_client(), name);
  mutex there(store().make_client({}, 1), name);
  const lease held = here.acquire();
  EXPECT_TRUE(there.try_acquire());
}

}  // namespace holdfast::testing
