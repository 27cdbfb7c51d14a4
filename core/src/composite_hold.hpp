#pragma once

#include <holdfast/detail/hold.hpp>

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <vector>

namespace holdfast::detail {

/// Several holds as one, held while `need` of them are: all of a multi_mutex, the majority of a quorum_mutex.
class composite_hold final : public hold {
 public:
  composite_hold(std::string name, std::vector<std::shared_ptr<hold>> members, std::size_t need);
  ~composite_hold() override;

  const std::string& name() const noexcept override { return name_; }
  std::string id() const override { return members_.front()->id(); }
  fencing_token token() const noexcept override { return token_; }
  lease_clock::time_point valid_until() const noexcept override;
  lease_clock::time_point now() const noexcept override { return members_.front()->now(); }
  bool valid() const noexcept override;
  std::stop_token lost() const noexcept override;
  loss loss_cause() const noexcept override;

  result<void> renew() override;
  result<void> release() override;
  result<void> downgrade() override;
  result<bool> try_upgrade() override;
  void drop() noexcept override;

 private:
  result<void> each(const std::function<result<void>(hold&)>& act);
  result<void> release_members();
  void count_losses() const noexcept;

  const std::string name_;
  const std::vector<std::shared_ptr<hold>> members_;
  const std::size_t need_;
  const fencing_token token_;
  std::atomic<bool> released_{false};
  std::stop_source source_;
  std::list<std::stop_callback<std::function<void()>>> callbacks_;
};

}  // namespace holdfast::detail
