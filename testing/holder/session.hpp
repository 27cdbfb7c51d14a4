#pragma once

#include <holdfast/holdfast.hpp>
#include <holdfast/testing/exclusive_lock.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace holdfast::testing {

/// One line of the language: words, then `key=value`.
struct command {
  static command parse(const std::string& line);

  const std::string& word(std::size_t index) const;  ///< Throws std::invalid_argument naming what is missing.
  std::string option(const std::string& key, std::string otherwise = {}) const;
  std::optional<std::chrono::milliseconds> duration(const std::string& key) const;
  long number(std::size_t index, long otherwise) const;
  acquire_options acquisition() const;

  std::vector<std::string> words;
  std::map<std::string, std::string> options;
};

/// What a lock_holder process has: a client, its locks, its leases by slot (`as=NAME`).
class session {
 public:
  /// Runs one command; the reply, one line. Never throws.
  std::string run(const std::string& line) noexcept;
  /// Cancels the wait under way. The only member that may be called while run() runs.
  void cancel();

 private:
  std::string answer(const command& c);
  std::string connect_to(const command& c);
  std::string acquire(const command& c);
  std::string of_lease(const command& c);
  std::string std_face(const command& c);
  std::string count(const command& c);
  std::string counted_primitives(const command& c);
  std::string registers(const command& c);

  std::stop_token fresh_stop();
  std::optional<lease> enter(const command& c);
  exclusive_lock& lock_for(const command& c);

  std::optional<client> client_;
  std::map<std::string, std::unique_ptr<exclusive_lock>> locks_;
  std::map<std::string, std::unique_ptr<shared_mutex>> shared_;
  std::map<std::string, std::unique_ptr<permit_semaphore>> permits_;
  std::map<std::string, lease> leases_;

  std::mutex stop_mutex_;
  std::stop_source stop_;  ///< Of the wait under way.
};

/// What the language has; printed by `lock_holder help`.
extern const char* const help_text;

}  // namespace holdfast::testing
