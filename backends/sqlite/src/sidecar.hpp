#pragma once

#include "database_file.hpp"
#include "descriptor.hpp"
#include "message.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace holdfast::sqlite {

/// Names a mailbox: a random number, its file called by its 16 hex digits.
using mailbox_id = std::int64_t;

/// The directory beside the database, `<database>-holdfast` (0700): the writers' turn and one socket per mailbox.
///
/// Everything in it speeds things up and nothing in it is needed: where it cannot be made or used (another user's, an
/// exotic file system) waiters look again and again instead of being told.
///
/// Thread safety: safe.
class sidecar {
 public:
  explicit sidecar(const database_file& database);

  bool usable() const noexcept { return static_cast<bool>(directory_); }
  const std::string& why_not() const noexcept { return why_not_; }
  int directory() const noexcept { return directory_.get(); }
  /// A file of ours in it, made (0600) if it is missing; nothing if that is not possible.
  descriptor open(const char* name) const;

  /// A non-blocking datagram socket that receives what is sent to `id`; without one if that is not possible.
  descriptor bind(mailbox_id id) const;
  void remove(mailbox_id id) const noexcept;
  /// Removes the mailboxes of clients that are gone without having done so.
  void remove_dead() const;

  enum class sent : std::uint8_t { delivered, full, nobody };
  /// Never blocks. `full`: the receiver is behind; try again.
  sent send(mailbox_id to, std::span<const message> messages) const noexcept;

  static mailbox_id random_id();

 private:
  std::string path_of(mailbox_id id) const;
  std::string set_up(const std::string& path);  ///< Why it cannot be used; empty if it can.
  void belong_to_owner(const char* name) const noexcept;

  descriptor directory_;
  std::string prefix_;  // of the paths of mailboxes
  descriptor sender_;
  std::string why_not_;
  uid_t owner_;
  gid_t group_;
};

}  // namespace holdfast::sqlite
