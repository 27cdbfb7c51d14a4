#include <holdfast/testing/conformance.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

namespace holdfast::testing {

using namespace std::chrono_literals;

namespace {

std::string repeated(std::string_view piece, std::size_t bytes) {
  std::string all;
  while (all.size() < bytes) all += piece;
  all.resize(bytes);
  return all;
}

/// Names that every store must take, and tell apart, unless its fixture says otherwise.
const std::vector<std::string>& good_names() {
  static const std::vector<std::string> names{"a",
                                              "A",
                                              "orders/42",
                                              "/orders/42",
                                              "orders//42",
                                              "orders/42/",
                                              "orders%2F42",
                                              "orders_42",
                                              "orders-42",
                                              "orders.42",
                                              "orders:42",
                                              "orders 42",
                                              " ",
                                              "  ",
                                              ".",
                                              "..",
                                              "../..",
                                              "...",
                                              "/",
                                              "//",
                                              "~",
                                              "-",
                                              "--help",
                                              "#",
                                              "a#0",
                                              "%",
                                              "%%",
                                              "%00",
                                              "%2e%2e",
                                              "*",
                                              "?",
                                              "[a]",
                                              "{a}",
                                              "{a}b",
                                              "\\",
                                              "\\n",
                                              "'",
                                              "\"",
                                              "''; DROP TABLE locks; --",
                                              "$HOME",
                                              "`id`",
                                              "a=b&c=d",
                                              "a\u00e9",
                                              "ae\u0301",
                                              "\u0416\u0443\u043a",
                                              "\u9501",
                                              "\U0001F512",
                                              "\u00a0",
                                              "\u2028",
                                              "\ufeff",
                                              "\U0010FFFF",
                                              "con",
                                              "nul.txt",
                                              repeated("n", 512),
                                              repeated("/n", 512),
                                              repeated("\u9501", 510),
                                              repeated("..", 512),
                                              repeated("n", 511) + "/",
                                              repeated("n", 255),
                                              repeated("n", 256)};
  return names;
}

std::vector<std::string> good_names_of(const store_fixture& store) {
  std::vector<std::string> taken;
  for (const std::string& name : good_names())
    if (store.takes_name(name)) taken.push_back(name);
  return taken;
}

struct bad_name {
  const char* why;
  std::string name;
  std::string byte;  ///< Two hex digits that the error must name; empty where no single byte is to blame.
};

const std::vector<bad_name>& bad_names() {
  static const std::vector<bad_name> names{
      {"empty", "", ""},
      {"one byte too long", repeated("n", 513), ""},
      {"much too long", repeated("n", 100'000), ""},
      {"a zero byte", std::string("a\0b", 3), "00"},
      {"a newline", "a\nb", "0a"},
      {"a carriage return", "a\r", "0d"},
      {"a tab", "\ta", "09"},
      {"the first control character", "a\x01", "01"},
      {"the last control character", "a\x1f", "1f"},
      {"delete", "a\x7f", "7f"},
      {"a byte that is never in UTF-8", "a\xff", "ff"},
      {"another byte that is never in UTF-8", "\xc0\x80", "c0"},
      {"a continuation byte alone", "a\x80", "80"},
      {"a sequence cut short at the end", "a\xe2\x82", "e2"},
      {"a sequence cut short in the middle", "\xe2\x82z", "7a"},
      {"an overlong slash of two bytes", "a\xc0\xaf", "c0"},
      {"an overlong slash of three bytes", "a\xe0\x80\xaf", "e0"},
      {"an overlong slash of four bytes", "a\xf0\x80\x80\xaf", "f0"},
      {"a surrogate", "a\xed\xa0\x80", "ed"},
      {"a pair of surrogates", "\xed\xa0\xbd\xed\xb4\x92", "ed"},
      {"beyond the last code point", "a\xf4\x90\x80\x80", "f4"},
      {"five bytes", "a\xf8\x88\x80\x80\x80", "f8"},
  };
  return names;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

TEST_P(name_conformance, every_good_name_works_and_comes_back_from_inspect_as_it_went) {
  client ours = connect();
  const client theirs = connect();
  for (const std::string& name : good_names_of(store())) {
    SCOPED_TRACE(name);
    mutex m(ours, name);
    mutex other(theirs, name);
    EXPECT_EQ(m.name(), name);
    {
      const lease held = m.acquire({.wait = live_timeout});
      EXPECT_EQ(held.name(), name);
      EXPECT_FALSE(other.try_acquire());
      const entry seen = look_at(theirs, name);
      EXPECT_EQ(seen.name, name);
      EXPECT_EQ(seen.holders.size(), 1u);
    }
    EXPECT_TRUE(other.try_acquire({.wait = live_timeout}));
    EXPECT_TRUE(nothing_left(ours, name));
  }
}

TEST_P(name_conformance, names_that_differ_are_different_locks) {
  const client c = connect();
  std::vector<std::unique_ptr<mutex>> locks;
  std::vector<lease> held;
  const auto names = good_names_of(store());
  for (const std::string& name : names) {
    locks.push_back(std::make_unique<mutex>(c, name));
    auto got = locks.back()->try_acquire();
    ASSERT_TRUE(got) << name << " is taken for another";
    held.push_back(std::move(*got));
  }
  std::map<std::string, int> shown;
  for (const entry& e : c.inspect()) ++shown[e.name];
  for (const std::string& name : names) EXPECT_EQ(shown[name], 1) << name;
  EXPECT_EQ(shown.size(), names.size());
}

TEST_P(name_conformance, every_good_name_can_be_evicted) {
  client c = connect();
  for (const std::string& name : good_names_of(store())) {
    SCOPED_TRACE(name);
    mutex m(c, name);
    lease held = m.acquire({.wait = live_timeout});
    EXPECT_TRUE(c.evict(name));
    EXPECT_TRUE(failed(errc::lost, held.renew()));
  }
}

TEST_P(name_conformance, every_good_name_works_for_every_primitive) {
  const client c = connect();
  for (const std::string& name : {std::string("../a%/'\U0001F512"), repeated("\u9501", 510), repeated("/", 512)}) {
    SCOPED_TRACE(name);
    if (supports().shared_mutex) {
      shared_mutex m(c, name);
      EXPECT_TRUE(m.try_acquire_shared({.wait = live_timeout}));
      EXPECT_TRUE(m.try_acquire({.wait = live_timeout}));
    }
    if (supports().permits) {
      EXPECT_TRUE(permit_semaphore(c, name, 2).try_acquire({.wait = live_timeout}, {}, 2));
    }
    if (supports().cell) {
      EXPECT_TRUE(cell(c, name).compare_exchange(0, name));
    }
    if (supports().fence) {
      EXPECT_TRUE(fence(c, name).admit(3));
    }
  }
}

TEST_P(name_conformance, bad_names_are_refused_and_the_offending_byte_is_named) {
  const client c = connect();
  for (const auto& [why, name, byte] : bad_names()) {
    SCOPED_TRACE(why);
    EXPECT_TRUE(throws(errc::invalid_argument, [&, n = name] { mutex m(c, n); }));
    const std::string text = lower(error_text([&, n = name] { mutex m(c, n); }));
    EXPECT_NE(text.find(byte), std::string::npos) << text;
  }
}

TEST_P(name_conformance, bad_names_are_refused_by_every_primitive) {
  client c = connect();
  for (const std::string& name : {std::string(), std::string("a\nb"), repeated("n", 513), std::string("\xff")}) {
    EXPECT_TRUE(throws(errc::invalid_argument, [&] { recursive_mutex m(c, name); }));
    EXPECT_TRUE(throws(errc::invalid_argument, [&] { striped_mutex m(c, name, 2); }));
    EXPECT_TRUE(throws(errc::invalid_argument, [&] { return c.evict(name); }));
    if (supports().shared_mutex) {
      EXPECT_TRUE(throws(errc::invalid_argument, [&] { shared_mutex m(c, name); }));
    }
    if (supports().permits) {
      EXPECT_TRUE(throws(errc::invalid_argument, [&] { permit_semaphore s(c, name, 2); }));
    }
    if (supports().semaphore) {
      EXPECT_TRUE(throws(errc::invalid_argument, [&] { counting_semaphore s(c, name); }));
    }
    if (supports().latch) {
      EXPECT_TRUE(throws(errc::invalid_argument, [&] { latch l(c, name); }));
    }
    if (supports().cell) {
      EXPECT_TRUE(throws(errc::invalid_argument, [&] { cell x(c, name); }));
    }
    if (supports().fence) {
      EXPECT_TRUE(throws(errc::invalid_argument, [&] { fence f(c, name); }));
    }
  }
}

}  // namespace holdfast::testing
