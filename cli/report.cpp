#include "report.hpp"

#include "arguments.hpp"
#include "exit_code.hpp"
#include "output.hpp"

#include <holdfast/error.hpp>

#include <exception>

namespace holdfast::cli {

int answer_errors(const std::function<int()>& work) noexcept {
  try {
    return work();
  } catch (const usage_error& wrong) {
    say(wrong.what());
    return exit_code::usage;
  } catch (const error& failed) {
    say(failed.what());
    return exit_code::of_error(failed.code());
  } catch (const std::exception& broken) {
    say(broken.what());
    return exit_code::internal;
  }
}

}  // namespace holdfast::cli
