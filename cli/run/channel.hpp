#pragma once

#include "unique_fd.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace holdfast::cli {

/// What the supervisor tells the keeper.
struct message {
  enum class kind : std::uint8_t {
    signal,   ///< A signal reached the supervisor.
    resumed,  ///< The supervisor was continued.
  };
  enum class origin : std::uint8_t {
    process,   ///< Somebody called kill on us alone, for all we know.
    terminal,  ///< The kernel sent it to the whole process group: the command has it already.
  };

  kind what = kind::signal;
  origin from = origin::process;
  std::int32_t signal = 0;
};

/// One end of a line between supervisor and keeper. When the process at the other end is gone, however it went, reading
/// says so.
class channel {
 public:
  explicit channel(unique_fd fd) noexcept : fd_(std::move(fd)) {}
  static std::pair<channel, channel> make();  ///< Throws std::system_error.

  int fd() const noexcept { return fd_.get(); }
  /// Does not block; what cannot be sent because the other end is gone is dropped.
  void send(const message& text) noexcept;
  /// The next message if there is one; does not block.
  std::optional<message> receive() noexcept;
  bool other_end_gone() const noexcept { return gone_; }  ///< As of the last receive().
  void close() noexcept { fd_.reset(); }

 private:
  unique_fd fd_;
  bool gone_ = false;
};

}  // namespace holdfast::cli
