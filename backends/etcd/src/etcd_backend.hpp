#pragma once

#include "line_desk.hpp"
#include "number_desk.hpp"
#include "office.hpp"
#include "pool_desk.hpp"

#include <holdfast/backend.hpp>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::etcd {

/// An etcd cluster.
///
/// Thread safety: safe.
class etcd_backend final : public spi::backend {
 public:
  static constexpr spi::capabilities can{.mutex = true,
                                         .shared_mutex = true,
                                         .permits = true,
                                         .semaphore = true,
                                         .latch = true,
                                         .cell = true,
                                         .fence = true,
                                         .fifo = true,
                                         .raise_token = true};

  /// Blocks at most connect_timeout.
  static result<std::unique_ptr<spi::backend>> open(const settings& where, spi::runtime& engine);
  etcd_backend(const settings& where, spi::runtime& engine);
  etcd_backend(const etcd_backend&) = delete;
  etcd_backend& operator=(const etcd_backend&) = delete;
  ~etcd_backend() override;

  spi::capabilities supports() const noexcept override;
  std::string identity() const override;

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
  void examine(spi::completion<std::vector<finding>> done) override;

 private:
  result<void> reach();

  struct desks {
    desks(const settings& where, spi::runtime& engine)
        : middle(where, engine), lines(middle), numbers(middle), pools(middle, numbers) {}
    office middle;
    line_desk lines;
    number_desk numbers;
    pool_desk pools;
  };

  std::shared_ptr<desks> all_;
  office& office_;
  line_desk& lines_;
  number_desk& numbers_;
  pool_desk& pools_;
  std::uint64_t cluster_id_ = 0;
};

}  // namespace holdfast::etcd
