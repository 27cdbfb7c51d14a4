#pragma once

#include "descriptor.hpp"
#include "outbox.hpp"
#include "sidecar.hpp"

#include <holdfast/backend.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace holdfast::sqlite {

/// This client's mailbox, and the way to those of others.
///
/// Thread safety: safe.
class post_office : public std::enable_shared_from_this<post_office> {
 public:
  /// `deliver` gets every message for `self`: on the reactor thread, or, what this client writes to itself, on the
  /// thread that calls send. With nothing locked.
  post_office(const sidecar& beside, spi::runtime& engine, mailbox_id self,
              std::function<void(const message&)> deliver);
  ~post_office();

  /// Opens the mailbox if it is not open; its id, or 0 if there can be none.
  mailbox_id open();
  /// Opens it in a moment, from the reactor: for a holder, who wants to hear of his eviction but not to wait for it.
  void open_soon();

  /// Blocks, for a fifth of a second at most, only where it tells of an eviction: see open_soon.
  void send(const outbox& letters);

 private:
  void await_mailbox(mailbox_id of) const;
  void send_to(mailbox_id to, std::vector<message> letters, int tries);
  void read_mail();

  const sidecar& beside_;
  spi::runtime& engine_;
  const mailbox_id self_;
  const std::function<void(const message&)> deliver_;

  std::mutex mutex_;
  descriptor socket_;
  bool tried_ = false;
  std::atomic<bool> soon_{false};
};

}  // namespace holdfast::sqlite
