#pragma once

#include "cells.hpp"
#include "deadlines.hpp"
#include "desk.hpp"
#include "inspection.hpp"
#include "observers.hpp"
#include "registers.hpp"
#include "session.hpp"
#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::zookeeper {

struct examination;

/// One client's way to a ZooKeeper ensemble.
///
/// Thread safety: safe.
class zookeeper_backend final : public spi::backend {
 public:
  static constexpr spi::capabilities can{.mutex = true,
                                         .shared_mutex = true,
                                         .permits = true,
                                         .semaphore = true,
                                         .latch = true,
                                         .cell = true,
                                         .fence = true,
                                         .fifo = true,
                                         .raise_token = false};

  static result<std::unique_ptr<spi::backend>> open(settings where, spi::runtime& engine);

  zookeeper_backend(settings where, spi::runtime& engine);
  zookeeper_backend(const zookeeper_backend&) = delete;
  zookeeper_backend& operator=(const zookeeper_backend&) = delete;
  ~zookeeper_backend() override;

  spi::capabilities supports() const noexcept override { return can; }
  std::string identity() const override { return session_.where().shown(); }

  void enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) override;
  void watch(const spi::claim& queued, spi::completion<spi::wake> done) override;
  void leave(const spi::claim& ours, spi::caller from, spi::completion<bool> done) override;
  void renew(const std::vector<spi::claim>& held, spi::completion<std::vector<spi::renewal_outcome>> done) override;
  void convert(const spi::claim& held, spi::access to, spi::caller from, spi::completion<bool> done) override;

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
  void ask_servers(const std::shared_ptr<examination>& all);

  session::listener ears();

  spi::runtime& engine_;
  const std::shared_ptr<deadlines> deadlines_;
  session session_;
  desk desk_;
  registers registers_;
  cells cells_;
  inspection inspection_;
  observers observers_;
};

}  // namespace holdfast::zookeeper
