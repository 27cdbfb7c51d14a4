#pragma once

#include "courier.hpp"
#include "hearing.hpp"
#include "layout.hpp"
#include "master_watch.hpp"
#include "observers.hpp"
#include "server_clock.hpp"
#include "settings.hpp"
#include "tickets.hpp"
#include "witnesses.hpp"

#include <holdfast/backend.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::redis {

class examination;

/// The refusal of a name that is in other use; `present` is the letter the scripts tell.
failure other_kind(const std::string& name, spi::kind wanted, std::string_view present);

/// One Redis server, or a cluster of them, in one of the layouts. Every operation is one script; see script_text.hpp.
///
/// Thread safety: safe.
class redis_backend final : public spi::backend {
 public:
  /// Blocks at most connect_timeout.
  static result<std::unique_ptr<spi::backend>> open(settings where, spi::runtime& engine);
  redis_backend(settings where, spi::runtime& engine, link::on_introduced introduced = {});
  result<void> open_link() { return courier_.open(); }

  result<void> prepare();

  spi::capabilities supports() const noexcept override { return layout_.supports(); }
  std::string identity() const override;

  void enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) override;
  /// As enter, but in line at `place` instead of at its end: lower ones come first.
  void enter_at(const spi::entry_request& request, std::uint64_t place, spi::completion<spi::entry_result> done);
  /// Gives a mutex to whoever is in line before `place`, and gets in line there. False: it did; true: nobody is, it is
  /// still ours. errc::lost: it was not ours.
  void yield(const spi::claim& held, std::uint64_t place, spi::completion<bool> done);
  void watch(const spi::claim& queued, spi::completion<spi::wake> done) override;
  bool lend(spi::loan& mine) override { return ears_->lend(mine); }
  void end(spi::loan& mine) noexcept override { ears_->end(mine); }
  void leave(const spi::claim& ours, spi::caller from, spi::completion<bool> done) override;
  void renew(const std::vector<spi::claim>& held, spi::completion<std::vector<spi::renewal_outcome>> done) override {
    renew_from(held, spi::caller::may_block, std::move(done));
  }
  void renew_from(const std::vector<spi::claim>& held, spi::caller from,
                  spi::completion<std::vector<spi::renewal_outcome>> done);
  void convert(const spi::claim& held, spi::access to, spi::caller from, spi::completion<bool> done) override;
  void raise(const spi::claim& held, fencing_token floor, spi::caller from, spi::completion<bool> done) override;

  void count(const spi::count_request& request, spi::caller from, spi::completion<spi::count_reply> done) override;
  void load_cell(const std::string& name, spi::caller from, spi::completion<spi::cell_value> done) override;
  void exchange_cell(const std::string& name, std::uint64_t expected, std::string value, spi::owner_id id,
                     spi::caller from, spi::completion<bool> done) override;
  void admit(const std::string& name, fencing_token token, spi::caller from,
             spi::completion<fencing_token> done) override;

  void inspect(const std::string& prefix, spi::completion<std::vector<entry>> done) override;
  void evict(const std::string& name, spi::completion<bool> done) override;
  std::function<void()> observe(const std::string& prefix, std::function<void()> changed) override;
  void examine(spi::completion<std::vector<finding>> done) override;

 private:
  using words = std::vector<std::string>;

  void follow_master();
  std::string owner(const spi::claim& c) const;
  std::string flags(spi::kind k) const;
  words claim_arguments(const spi::claim& c) const;
  std::string memory() const;  // how long the server is to remember an answer
  words entry_arguments(const spi::entry_request& request, std::uint64_t place, const std::string& who_asks,
                        bool queue) const;
  /// Runs a script; the answer is a reply that is no error.
  void run(const script& what, words keys, words arguments, spi::caller from, link::answer told);

  /// Why a cluster cannot have the name.
  std::optional<failure> refusal(spi::kind k, const std::string& name) const;
  std::vector<std::size_t> by_slot(const std::vector<spi::claim>& held) const;

  std::vector<subject> subjects_of(const spi::claim& c) const;  // what must be heard by one who is in line
  std::vector<subject> public_subjects(const std::string& channel) const;
  bool listening(const spi::claim& c) const;
  void listen(std::vector<subject> all, hearing::ready done);
  void heard(const std::string& who, const result<void>& subscribed);
  void enter_now(const spi::entry_request& request, std::uint64_t place, bool queue,
                 spi::completion<spi::entry_result> done);
  result<spi::entry_result> settle(const spi::entry_request& request, const reply& said, spi::time_point sent);
  spi::busy busy_until(const reply& said) const;
  void change_access(const spi::claim& held, spi::access to, spi::caller from, spi::completion<bool> done);
  void ask_for_settings(const std::shared_ptr<examination>& all);
  void ask_for_rights(const std::shared_ptr<examination>& all);
  void hear_others(const spi::claim& c, const std::string& who);
  void hush(const std::string& channel);
  std::optional<subject> own_subject(const spi::claim& c) const;  // what only this claim listens to
  void on_message(std::string_view channel, std::string_view payload);
  void on_letter(std::string_view payload);
  void on_grant(std::string_view letter);

  const settings where_;
  const layout layout_;
  spi::runtime& engine_;
  const std::string uuid_;
  const std::string who_;
  courier courier_;
  const std::shared_ptr<witnesses> witnesses_;  // null: none are asked for
  publishing pubsub_ = publishing::plain;       // how Redisson's channels are used: never automatic
  const std::shared_ptr<hearing> ears_;
  const std::shared_ptr<observers> observers_;
  std::shared_ptr<master_watch> master_watch_;  // behind sentinels
  server_clock clock_;
  tickets tickets_;
};

}  // namespace holdfast::redis
