#include "crew.hpp"

#include "children.hpp"
#include "floor.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

/// A lock that is none: everybody gets in.
class open_door final : public contender {
 public:
  std::uint64_t acquire() override { return 0; }
  void release() override {}
  void pairs(std::uint64_t) override {}
};

/// A correct lock whose tokens stand still.
class stuck_token final : public contender {
 public:
  explicit stuck_token(std::unique_ptr<contender> lock) : lock_(std::move(lock)) {}
  std::uint64_t acquire() override {
    lock_->acquire();
    return 7;
  }
  void release() override { lock_->release(); }
  void pairs(std::uint64_t count) override { lock_->pairs(count); }

 private:
  std::unique_ptr<contender> lock_;
};

/// A subject made of one function.
class made_by final : public subject {
 public:
  using maker = std::function<std::unique_ptr<contender>(const assignment&)>;
  explicit made_by(maker make) : make_(std::move(make)) {}
  std::unique_ptr<contender> enlist(const assignment& what) override { return make_(what); }

 private:
  maker make_;
};

open_subject subject_of(made_by::maker make) {
  return [make = std::move(make)] { return std::make_unique<made_by>(make); };
}

open_subject open_doors() {
  return subject_of([](const assignment&) { return std::make_unique<open_door>(); });
}

open_subject timed_mutexes() {
  return [] { return holdfast_floor_memory()->open("", ""); };
}

crew_plan contended(unsigned processes, unsigned threads) {
  crew_plan plan;
  plan.processes = processes;
  plan.threads = threads;
  plan.how = crew_plan::manner::contended;
  plan.slices = 2;
  plan.slice = 50ms;
  return plan;
}

std::string failure_of(const crew_plan& plan, const open_subject& ours, const open_subject& floor = {}) {
  try {
    run_crew(plan, {workload::handover, "lock"}, ours, floor, [](double) {});
  } catch (const measurement_error& e) {
    EXPECT_EQ(e.exit_code(), exit_failed);
    return e.what();
  }
  return "";
}

TEST(crew, a_lock_that_does_not_exclude_threads_is_caught) {
  EXPECT_NE(failure_of(contended(1, 8), open_doors()).find("LOST UPDATE (ours)"), std::string::npos);
}

TEST(crew, a_lock_that_does_not_exclude_processes_is_caught) {
  EXPECT_NE(failure_of(contended(4, 1), open_doors()).find("LOST UPDATE (ours)"), std::string::npos);
}

TEST(crew, a_floor_that_does_not_exclude_is_caught_too) {
  EXPECT_NE(failure_of(contended(1, 8), timed_mutexes(), open_doors()).find("LOST UPDATE (floor)"), std::string::npos);
}

TEST(crew, a_token_that_does_not_increase_is_caught) {
  const auto lock = std::make_shared<std::unique_ptr<subject>>(holdfast_floor_memory()->open("", ""));
  const auto ours =
      subject_of([lock](const assignment& what) { return std::make_unique<stuck_token>((*lock)->enlist(what)); });
  EXPECT_NE(failure_of(contended(1, 2), ours).find("fencing token 7 after 7"), std::string::npos);
}

TEST(crew, a_correct_lock_counts_exactly_and_hands_over) {
  const auto result =
      run_crew(contended(1, 4), {workload::handover, "lock"}, timed_mutexes(), timed_mutexes(), [](double) {});
  EXPECT_EQ(result.ours.counted, result.ours.pairs);
  ASSERT_EQ(result.ours.slices.size(), 2u);
  EXPECT_GT(result.ours.slices[0].pairs, 0);
  EXPECT_GT(result.ours.waits.count(), 0u);
  EXPECT_GE(result.ours.share, 0);
  EXPECT_LE(result.ours.share, 1);
  ASSERT_TRUE(result.floor);
  EXPECT_EQ(result.floor->counted, result.floor->pairs);
}

TEST(crew, one_worker_alone_never_hands_over_but_at_the_start) {
  const auto result = run_crew(contended(1, 1), {workload::handover, "lock"}, timed_mutexes(), {}, [](double) {});
  EXPECT_EQ(result.ours.waits.count(), 0u);  // the only change of owner is in the warm-up
  EXPECT_EQ(result.ours.slices[0].handovers, 0);
  EXPECT_FALSE(result.floor);
}

TEST(crew, what_a_worker_throws_ends_the_run_with_its_words) {
  const auto ours =
      subject_of([](const assignment&) -> std::unique_ptr<contender> { throw std::runtime_error("no such store"); });
  EXPECT_EQ(failure_of(contended(3, 2), ours), "no such store");
}

TEST(crew, a_worker_that_dies_ends_the_run) {
  const auto ours = subject_of([](const assignment&) -> std::unique_ptr<contender> {
    ::raise(SIGKILL);
    return nullptr;
  });
  EXPECT_NE(failure_of(contended(2, 1), ours).find("ended by signal 9"), std::string::npos);
}

TEST(crew, a_lock_that_never_comes_free_is_called_stuck) {
  const auto ours = subject_of([](const assignment&) -> std::unique_ptr<contender> {
    ::pause();
    return nullptr;
  });
  auto plan = contended(2, 1);
  plan.grace = 100ms;
  EXPECT_NE(failure_of(plan, ours).find("stuck"), std::string::npos);
}

TEST(crew, locks_of_their_own_are_told_apart_by_name) {
  crew_plan plan;
  plan.threads = 3;
  plan.slices = 1;
  plan.slice = 5ms;
  const auto ours = subject_of([](const assignment& what) -> std::unique_ptr<contender> {
    if (what.lock != "lock/0" && what.lock != "lock/1" && what.lock != "lock/2")
      throw std::runtime_error("unexpected name " + what.lock);
    return std::make_unique<open_door>();
  });
  EXPECT_NO_THROW(run_crew(plan, {workload::many, "lock"}, ours, {}, [](double) {}));
}

}  // namespace
}  // namespace holdfast::bench
