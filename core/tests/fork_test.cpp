#include "fork_generation.hpp"
#include "support/rig.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>

namespace holdfast::testing {
namespace {

/// Runs `f` in a forked child and gives what it exits with.
template <class F>
int in_a_child(F f) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(f());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(owner_id, is_unique_and_32_lower_case_digits) {
  std::set<std::string> all;
  for (int i = 0; i < 1000; ++i) all.insert(spi::owner_id::random().hex());
  EXPECT_EQ(all.size(), 1000U);
  for (const auto& hex : all) {
    EXPECT_EQ(hex.size(), 32U);
    EXPECT_EQ(hex.find_first_not_of("0123456789abcdef"), std::string::npos);
  }
}

TEST(owner_id, differs_between_a_process_and_its_forked_child) {
  (void)spi::owner_id::random();  // the pool is filled
  int channel[2];
  ASSERT_EQ(::pipe(channel), 0);
  const int exit = in_a_child([&] {
    const auto id = spi::owner_id::random();
    return ::write(channel[1], &id, sizeof id) == static_cast<ssize_t>(sizeof id) ? 0 : 1;
  });
  EXPECT_EQ(exit, 0);
  spi::owner_id childs;
  ASSERT_EQ(::read(channel[0], &childs, sizeof childs), static_cast<ssize_t>(sizeof childs));
  ::close(channel[0]);
  ::close(channel[1]);
  for (int i = 0; i < 64; ++i) EXPECT_NE(spi::owner_id::random(), childs);
}

TEST(fork_generation, grows_in_the_child_only) {
  const auto here = detail::fork_generation();
  EXPECT_EQ(in_a_child([&] { return detail::fork_generation() == here + 1 ? 0 : 1; }), 0);
  EXPECT_EQ(detail::fork_generation(), here);
}

TEST(fork_generation, a_childs_lease_is_not_valid_and_touches_nothing) {
  rig r;
  mutex m(r.connected(), "x");
  auto held = m.acquire();
  const auto leaves = r.store->leave.count();
  const int failed = in_a_child([&] {
    if (held.valid()) return 1;
    if (!held.lost().stop_requested()) return 2;
    if (held.release().error().code != errc::not_owner) return 3;
    if (held.renew().error().code != errc::not_owner) return 4;
    try {
      (void)m.try_acquire();
      return 5;
    } catch (const error& e) {
      if (e.code() != errc::unsupported) return 6;
    }
    {
      auto dropped = std::move(held);
    }
    return r.store->leave.count() == leaves ? 0 : 7;
  });
  EXPECT_EQ(failed, 0);
  EXPECT_TRUE(held.valid());
}

}  // namespace
}  // namespace holdfast::testing
