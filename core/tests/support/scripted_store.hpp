#pragma once

#include "support/scripted_operation.hpp"

#include <atomic>
#include <memory>

namespace holdfast::testing {

/// A store played by the test. Unless told otherwise it is friendly: it grants what is asked, renews everything, knows
/// whatever is left, and answers at once; a watch stays open until its claim leaves.
///
/// It outlives the backend that the engine owns, so that a test can read afterwards what was asked of it.
class scripted_store {
 public:
  explicit scripted_store(std::string identity = "scripted:");

  scripted_operation<spi::entry_request, spi::entry_result> enter;
  scripted_operation<spi::claim, spi::wake> watch;
  scripted_operation<spi::claim, bool> leave;
  scripted_operation<std::vector<spi::claim>, std::vector<spi::renewal_outcome>> renew;
  struct raised {
    spi::claim claim;
    fencing_token floor;
  };
  scripted_operation<raised, bool> raise;
  struct converted {
    spi::claim claim;
    spi::access to;
  };
  scripted_operation<converted, bool> convert;
  scripted_operation<std::string, std::vector<entry>> inspect;
  scripted_operation<std::string, bool> evict;

  std::function<void()> changed;  ///< What observe() was given.
  unsigned observers = 0;
  spi::capabilities supports;
  const std::string identity;

  /// A backend over this store, for engine::make.
  static std::unique_ptr<spi::backend> backend(std::shared_ptr<scripted_store> store, spi::runtime& engine);

  /// A grant of the next token or tokens, from now.
  spi::granted grant(const spi::claim& claim, std::uint32_t tokens = 1);
  /// "Busy", and nothing to be seen for an hour.
  spi::busy busy() const;
  std::vector<spi::renewal_outcome> renewed(const std::vector<spi::claim>& claims) const;
  void hang_up();

  std::atomic<std::uint64_t> next_token{100};

 private:
  friend class scripted_backend;
  spi::time_point now() const { return engine_.load()->now(); }

  std::atomic<spi::runtime*> engine_{nullptr};
};

inline const failure silent{errc::unavailable, "no answer"};
inline const failure refusal{errc::rejected, "no rights"};

}  // namespace holdfast::testing
