#pragma once

#include "election.hpp"
#include "redlock_node.hpp"
#include "settings.hpp"

#include <holdfast/backend.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace holdfast::redis {

/// Redlock: a majority of independent servers grants. Each of them is an ordinary Redis store in Redisson's layout.
///
/// Numbers and cells are refused: a majority does not bound a count, and nobody orders their changes.
///
/// Thread safety: safe.
class redlock_backend final : public spi::backend {
 public:
  static constexpr spi::capabilities can{.mutex = true, .fence = true, .fifo = true, .raise_token = true};

  /// Blocks at most connect_timeout. A minority may be unreachable.
  static result<std::unique_ptr<spi::backend>> open(std::vector<settings> servers, spi::runtime& engine);
  redlock_backend(std::vector<settings> servers, spi::runtime& engine);

  spi::capabilities supports() const noexcept override { return can; }
  std::string identity() const override;

  void enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) override;
  void watch(const spi::claim& queued, spi::completion<spi::wake> done) override;
  void leave(const spi::claim& ours, spi::caller from, spi::completion<bool> done) override;
  void renew(const std::vector<spi::claim>& held, spi::completion<std::vector<spi::renewal_outcome>> done) override;
  void raise(const spi::claim& held, fencing_token floor, spi::caller from, spi::completion<bool> done) override;
  void admit(const std::string& name, fencing_token token, spi::caller from,
             spi::completion<fencing_token> done) override;

  void inspect(const std::string& prefix, spi::completion<std::vector<entry>> done) override;
  void evict(const std::string& name, spi::completion<bool> done) override;
  std::function<void()> observe(const std::string& prefix, std::function<void()> changed) override;
  void examine(spi::completion<std::vector<finding>> done) override;

 private:
  result<void> open_nodes();
  std::shared_ptr<election> find(const spi::owner_id& id) const;
  std::shared_ptr<election> find_or_begin(const spi::claim& claim);
  std::shared_ptr<election> take(const spi::owner_id& id);
  void lost(std::size_t node, const spi::owner_id& id, loss cause);
  std::uint64_t next_place();
  std::size_t need() const noexcept { return nodes_.size() / 2 + 1; }

  spi::runtime& engine_;
  redlock_nodes nodes_;
  std::atomic<std::uint64_t> last_place_{0};
  mutable std::mutex mutex_;
  std::map<spi::owner_id, std::shared_ptr<election>> elections_;
  std::map<spi::owner_id, std::shared_ptr<election>> ended_;  // left, but not yet at every server
};

}  // namespace holdfast::redis
