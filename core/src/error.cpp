#include <holdfast/error.hpp>

#include <array>
#include <cstddef>
#include <new>

namespace holdfast {

namespace {

const char* sentence(errc code) noexcept {
  switch (code) {
    case errc::timed_out:
      return "The lock was not obtained in time.";
    case errc::cancelled:
      return "The wait was cancelled.";
    case errc::lost:
      return "The lease was lost.";
    case errc::not_owner:
      return "The caller does not hold this lock.";
    case errc::unavailable:
      return "The store did not answer.";
    case errc::rejected:
      return "The store refused the request.";
    case errc::invalid_argument:
      return "An argument is malformed.";
    case errc::unsupported:
      return "This store or build does not support the request.";
    case errc::deadlock:
      return "The wait would never end.";
  }
  return "Unknown Holdfast error.";
}

class category_type final : public std::error_category {
 public:
  const char* name() const noexcept override { return "holdfast"; }
  std::string message(int value) const override { return sentence(static_cast<errc>(value)); }
};

std::string describe(const failure& why, const std::string& operation, const std::string& name) {
  std::string text = operation;
  if (!name.empty()) text += (text.empty() ? "'" : " '") + name + "'";
  if (!text.empty()) text += ": ";
  text += why.code.message();
  if (!why.detail.empty()) text += " (" + why.detail + ")";
  return text;
}

}  // namespace

const std::error_category& category() noexcept {
  // Never destroyed: while the process ends, globals that were made earlier may still look at codes.
  alignas(category_type) static std::array<std::byte, sizeof(category_type)> room;
  static const category_type* const instance = ::new (room.data()) category_type;
  return *instance;
}

std::error_code make_error_code(errc code) noexcept { return {static_cast<int>(code), category()}; }

error::error(failure why, std::string operation, std::string name)
    : std::system_error(why.code),
      operation_(std::move(operation)),
      name_(std::move(name)),
      detail_(why.detail),
      what_(describe(why, operation_, name_)) {}

error::error(failure why) : error(std::move(why), {}, {}) {}

}  // namespace holdfast
