#pragma once

#include <holdfast/export.hpp>
#include <holdfast/token.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast {

/// Somebody who holds a lock or waits for it.
struct participant {
  std::string owner;        ///< lease::id() of the holder; unique to a grant of the store, or a wait.
  fencing_token token;      ///< Holders: that of the grant. Waiters: 0.
  std::string host;         ///< Machine, as it names itself.
  std::int64_t pid = 0;     ///< Process, in its own pid namespace.
  std::string client_name;  ///< client_options::name.
  std::chrono::system_clock::time_point since;  ///< When it was granted, or began to wait.
  std::chrono::nanoseconds remaining{0};        ///< Holders: until the ttl ends unless renewed.
  bool shared = false;                          ///< A reader of a shared_mutex.
  std::uint32_t permits = 1;                    ///< How many permits of a permit_semaphore.
};

/// One lock that is held or waited for.
struct entry {
  std::string name;
  std::string kind;  ///< "mutex" (recursive ones too), "shared_mutex", "permit_semaphore".
  std::vector<participant> holders;
  std::vector<participant> waiters;  ///< In the order of the store's queue where it has one.
};

/// One thing to say about a store as it is set up, with its consequence and, if there is one, the remedy.
struct finding {
  enum class level {
    fact,     ///< What it guarantees.
    warning,  ///< Locks hold, but something is not as it should be, or cannot be told.
    danger,   ///< Locks may fail.
  };
  level how = level::fact;
  std::string text;
};
HOLDFAST_EXPORT const char* to_string(finding::level how) noexcept;

/// What client::watch tells.
struct change {
  enum class kind { granted, released, waiting, left };
  kind what = kind::granted;
  std::string name;
  std::string lock_kind;  ///< As entry::kind.
  participant who;
};
HOLDFAST_EXPORT const char* to_string(change::kind what) noexcept;

}  // namespace holdfast
