#pragma once

#include <holdfast/backend.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace holdfast::redis {

/// Our claims in line, by their owner's name in the store, and the watches on them. A wake that comes before the watch
/// is kept for it.
///
/// Thread safety: safe. Watches end with nothing locked.
class tickets {
 public:
  /// Called before the claim may be put in line: from here on nothing that is said of it is missed.
  void open(const std::string& owner, const std::string& channel, spi::kind kind = spi::kind::mutex);
  /// The claim is over, or gives up.
  void close(const std::string& owner);
  /// The claim was granted by an answer: it is not in line any more.
  void settle(const std::string& owner, fencing_token token = {});

  /// Ends at once if the claim is not in line or was woken already.
  void watch(const std::string& owner, spi::completion<spi::wake> done);
  /// A grant ends the wait: the claim is not in line any more. One that is no newer than what the claim has had since
  /// is old news, overtaken by an answer. False: nobody here waits for it or had it.
  bool wake(const std::string& owner, spi::wake why);
  /// Nothing will be told of the claim: its watch ends with `why`, which refusal() then has for its next look.
  void fail(const std::string& owner, const failure& why);
  std::optional<failure> refusal(const std::string& owner) const;
  void wake_all();
  /// Of those that wait on this channel, the one that has waited longest looks again: its look serves the line.
  void wake_first_on(std::string_view channel);

  /// Says that the claim must hear the channel; true for the first that does.
  bool need(const std::string& owner);
  /// Does anybody in line still need the channel?
  bool needed(std::string_view channel) const;

 private:
  struct ticket {
    std::uint64_t number = 0;
    std::string channel;
    bool lasts = true;  // a grant of it is held until it is left
    bool needs_channel = false;
    fencing_token had;  // what it has given up to be in line again
    std::optional<spi::wake> woken;
    std::optional<failure> refused;
    spi::completion<spi::wake> watch;
  };

  struct audience {                             // those in line on one channel
    std::map<std::uint64_t, std::string> line;  // owners, in the order they came
    std::size_t needs = 0;                      // how many must hear it
  };
  using place = std::unordered_map<std::string, ticket>::iterator;

  void erase(place at);                         // with mutex_ held
  void move_in(place at, fencing_token token);  // with mutex_ held

  mutable std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::unordered_map<std::string, ticket> all_;
  std::unordered_map<std::string, fencing_token> inside_;  // were in line and have their grant: its token
  std::map<std::string, audience, std::less<>> channels_;
};

}  // namespace holdfast::redis
