#pragma once

#include <holdfast/backend.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace holdfast::redis {

/// The votes of several servers on one claim, as a pure table: who was asked, who said what, and what follows. No I/O,
/// no clock.
///
/// | seat    | meaning                                                   |
/// |---------|-----------------------------------------------------------|
/// | idle    | not asked, or left                                        |
/// | asked   | a question about it is under way: it may or may not be ours |
/// | granted | ours, until its time ends                                 |
/// | queued  | somebody else's; we are in line                           |
/// | failed  | no answer, a refusal, or a server that must not vote yet  |
class ballot {
 public:
  enum class seat : std::uint8_t { idle, asked, granted, queued, failed };
  enum class verdict : std::uint8_t {
    open,      ///< Answers under way may still make a majority.
    majority,  ///< Enough of them are ours.
    busy,      ///< Somebody else is in the way.
    broken,    ///< So many have failed that the rest is no majority.
  };
  using time_point = spi::time_point;

  explicit ballot(std::size_t seats) : need_(seats / 2 + 1), seats_(seats) {}

  void ask(std::size_t i) { seats_[i].what = seat::asked; }
  void grant(std::size_t i, const spi::granted& grant);
  void queue(std::size_t i, time_point look_again);
  void fail(std::size_t i, failure why);
  void clear(std::size_t i) { seats_[i] = {}; }
  void raise(std::size_t i, fencing_token to) { seats_[i].grant.first_token = to; }

  std::size_t size() const noexcept { return seats_.size(); }
  std::size_t need() const noexcept { return need_; }
  seat at(std::size_t i) const noexcept { return seats_[i].what; }
  fencing_token token(std::size_t i) const noexcept { return seats_[i].grant.first_token; }
  const spi::granted& grant_of(std::size_t i) const noexcept { return seats_[i].grant; }
  /// Ours, and its time has not ended.
  bool current(std::size_t i, time_point now) const noexcept { return counts(seats_[i], now); }

  std::size_t votes(time_point now) const noexcept;
  verdict judge(time_point now) const noexcept;
  /// The greatest token of the votes, and how many of them have it.
  fencing_token newest(time_point now) const noexcept;
  std::size_t votes_with(fencing_token token, time_point now) const noexcept;
  /// The claim as a majority grants it: with the newest token, for as long as enough of the votes last.
  spi::granted outcome(time_point now) const;
  /// The earliest time one of those in line wants to look again.
  time_point look_again() const noexcept;
  /// Why it is broken: a refusal before a silence.
  failure why() const;

 private:
  struct place {
    seat what = seat::idle;
    spi::granted grant;
    time_point look_again;
    std::optional<failure> no;
  };

  static bool counts(const place& p, time_point now) noexcept {
    return p.what == seat::granted && p.grant.expires > now;
  }

  std::size_t need_;
  std::vector<place> seats_;
};

}  // namespace holdfast::redis
