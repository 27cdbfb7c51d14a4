#pragma once

#include "children.hpp"
#include "shared_memory.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace holdfast::bench {

/// A program of somebody else's that is spoken to in lines, over its stdin and stdout. Ends with this object.
class peer_process {
 public:
  /// `sh` runs the command, with the arguments after it. That it cannot be started is found by hear().
  peer_process(const std::string& command, const std::vector<std::string>& arguments);
  peer_process(const peer_process&) = delete;
  peer_process& operator=(const peer_process&) = delete;
  ~peer_process();

  void tell(const std::string& line);
  /// The next line, without its end. Throws measurement_error: it ended, it is late, the user interrupts.
  std::string hear(std::chrono::steady_clock::time_point deadline);
  /// Closes its stdin and waits for its end. Throws measurement_error: it did not exit with 0, or not in time.
  void dismiss(std::chrono::nanoseconds limit);

 private:
  void receive();
  [[noreturn]] void report_end();

  shared_array<failure_note> note_{1};
  children process_;
  int line_ = -1;  ///< Our end of its stdin and stdout.
  std::string heard_;
  std::size_t searched_ = 0;  ///< So much of heard_ has no end of a line.
};

}  // namespace holdfast::bench
