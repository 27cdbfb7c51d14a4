#pragma once

#include "session.hpp"
#include "store.hpp"

#include <holdfast/backend.hpp>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::memory {

/// One client's way into a store of this process. Everything is answered before the call returns.
///
/// Thread safety: safe.
class memory_backend final : public spi::backend {
 public:
  static constexpr spi::capabilities can{true, true, true, true, true, true, true, true, true};

  memory_backend(const std::string& key, spi::runtime& engine);
  memory_backend(const memory_backend&) = delete;
  memory_backend& operator=(const memory_backend&) = delete;
  ~memory_backend() override;

  spi::capabilities supports() const noexcept override { return can; }
  std::string identity() const override { return "memory:" + key_; }

  void enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) override;
  void watch(const spi::claim& queued, spi::completion<spi::wake> done) override;
  void leave(const spi::claim& ours, spi::caller from, spi::completion<bool> done) override;
  void renew(const std::vector<spi::claim>& held, spi::completion<std::vector<spi::renewal_outcome>> done) override;
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

 private:
  result<spi::entry_result> enter_locked(const spi::entry_request& request, name_state& state, spi::time_point now,
                                         wakeups& woken);
  template <class Change>
  result<bool> change_held(const spi::claim& held, Change change);

  const std::string key_;
  spi::runtime& engine_;
  const std::shared_ptr<store> store_;
  const std::shared_ptr<session> session_;
};

}  // namespace holdfast::memory
