#pragma once

#include "ballot.hpp"
#include "redlock_node.hpp"

#include <holdfast/backend.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace holdfast::redis {

using redlock_nodes = std::vector<std::unique_ptr<redlock_node>>;

/// One claim and the votes on it, from the first question to the last answer after it was left.
///
/// All servers are asked at once. Everybody's place in line is the time it began, the same at every server: a release
/// hands all votes to the same one. Votes that were split, because two came at the same time, are resolved at once: who
/// has some but no majority yields each of them to whoever is before it in that server's line, and keeps its own place.
///
/// Thread safety: safe. Completions come with nothing locked.
class election : public std::enable_shared_from_this<election> {
 public:
  election(redlock_nodes& nodes, spi::runtime& engine, spi::claim claim, std::uint64_t place);

  void enter(const spi::entry_request& request, spi::completion<spi::entry_result> done);
  void watch(spi::completion<spi::wake> done);
  void leave(spi::completion<bool> done);
  /// Left, but some server may still have to be told: the id must not be used again before.
  bool closing() const;
  /// Every server may know the claim, though nothing is known of it here.
  void suspect_all();

  /// A server has taken its vote away; true if that ends the lease.
  bool lose(std::size_t node);
  /// Who has voted, for renewals.
  std::vector<std::size_t> voters() const;
  /// A renewal's outcome at a server; true if the vote counts.
  bool renewed(std::size_t node, const spi::renewal_outcome& outcome);
  /// Raises the tokens of the votes; a majority must do it.
  void raise(fencing_token floor, spi::completion<bool> done);

 private:
  using seat = ballot::seat;
  using guard = std::unique_lock<std::mutex>;
  using task = detail::unique_function<void()>;

  // All of these with mutex_ held; what calls others is put off until it is not.
  void ask(std::size_t i);
  void ask_later(std::size_t i);
  void ask_again(std::size_t i);
  bool others_answer() const;
  void on_answer(std::size_t i, std::uint64_t attempt, result<spi::entry_result> said);
  void on_vote(std::size_t i, const spi::granted& grant);
  void listen(std::size_t i);
  void on_wake(std::size_t i);
  void evaluate();
  void conclude_busy();
  void conclude_broken();
  void yield(std::size_t i);
  void on_yielded(std::size_t i, const spi::granted& grant, const result<bool>& kept);
  void raise_tokens();
  void on_raised(std::size_t i, fencing_token to, const result<bool>& done);
  void win(spi::time_point now);
  void look();
  void drop(std::size_t i);
  void on_dropped(std::size_t i, unsigned purge, const result<bool>& said);
  void drop_all();
  void conclude_leaving();
  void sent(std::size_t i);
  void flown(std::size_t i);
  void later(task what) { tasks_.push_back(std::move(what)); }

  /// Runs `step` with the lock, then what it has put off.
  template <class Step>
  void locked(Step step);

  redlock_nodes& nodes_;
  spi::runtime& engine_;
  const spi::claim claim_;
  const std::uint64_t place_;

  mutable std::mutex mutex_;
  ballot votes_;
  std::vector<task> tasks_;
  /// What a server that may know the claim has said when all were told to drop it.
  enum class ending : std::uint8_t { none, unheard, held, gone };
  struct connection {
    std::uint64_t attempt = 0;  // answers to earlier ones are out of date
    unsigned flights = 0;       // questions under way
    unsigned unsent = 0;        // those of them that are not with the server's connection yet
    bool known = false;         // the server may know the claim
    bool poisoned = false;      // what ends the claim may still arrive: it is not asked again
    bool unwanted = false;      // to be dropped as soon as the last question is sent
    bool late = false;          // dropped while one was under way: once more when it has come back
    unsigned dropping = 0;
    ending end = ending::none;
    bool ask_again = false;  // when it is dropped
    bool listening = false;
    bool timer = false;  // to ask it when it votes again
  };
  std::vector<connection> links_;
  spi::entry_request request_;
  spi::completion<spi::entry_result> entering_;
  spi::completion<spi::wake> watching_;
  spi::completion<bool> leaving_;
  std::optional<spi::granted> won_;
  bool looked_ = false;   // news that no watch has told yet
  bool raising_ = false;  // tokens, before it is won
  bool closed_ = false;
  unsigned splits_ = 0;
  unsigned raises_ = 0;
  unsigned purge_ = 1;        // which drop_all() it is: earlier ones' answers do not count
  std::size_t dropping_ = 0;  // answers to it that are waited for
  std::size_t dropped_ = 0;   // answers to it that came
  std::optional<failure> drop_failure_;
  task when_dropped_;
};

template <class Step>
void election::locked(Step step) {
  std::vector<task> tasks;
  {
    const guard lock(mutex_);
    step();
    tasks.swap(tasks_);
  }
  // They may come back here at once, with what they then put off.
  for (auto& next : tasks) next();
}

}  // namespace holdfast::redis
