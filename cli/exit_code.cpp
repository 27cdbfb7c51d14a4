#include "exit_code.hpp"

namespace holdfast::cli::exit_code {

int of_error(const std::error_code& code) {
  if (code.category() != holdfast::category()) return internal;
  switch (static_cast<errc>(code.value())) {
    case errc::timed_out:
      return not_obtained;
    // A store that answers and refuses (corrupt, read-only, full) is of no more use than one that does not answer.
    case errc::unavailable:
    case errc::rejected:
      return unavailable;
    case errc::invalid_argument:
    case errc::unsupported:
      return usage;
    case errc::lost:
      return lost;
    case errc::cancelled:
    case errc::not_owner:
    case errc::deadlock:
      return failed;
  }
  return internal;
}

}  // namespace holdfast::cli::exit_code
