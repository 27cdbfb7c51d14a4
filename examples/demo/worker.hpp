#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>

namespace demo {

/// Where everything of one run lies.
struct workshop {
  std::filesystem::path directory;

  std::filesystem::path counter() const { return directory / "counter"; }
  std::filesystem::path journal() const { return directory / "journal"; }
  std::string store() const { return "sqlite://" + (directory / "locks.db").string(); }
};

/// Starts a process that runs `work` and ends. It dies with this one.
pid_t start(const std::function<void()>& work);

/// Reads the number in the counter file and writes it back plus one: two steps, with nothing that protects them.
void increment(const workshop& shop);
long count(const workshop& shop);

/// Increments `rounds` times, each under the lock, and keeps the journal.
void count_under_lock(const workshop& shop, int rounds);
/// The same, then takes the lock once more, reports it on `ready` and never lets go.
void count_and_hang(const workshop& shop, int rounds, int ready);

}  // namespace demo
