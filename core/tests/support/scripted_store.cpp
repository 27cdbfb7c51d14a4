#include "support/scripted_store.hpp"

namespace holdfast::testing {

/// What the engine sees of a scripted store.
class scripted_backend final : public spi::backend {
 public:
  explicit scripted_backend(std::shared_ptr<scripted_store> store) : store_(std::move(store)) {}

  spi::capabilities supports() const noexcept override { return store_->supports; }
  std::string identity() const override { return store_->identity; }

  void enter(const spi::entry_request& request, spi::completion<spi::entry_result> done) override {
    store_->enter.on_call(request, std::move(done));
  }
  void watch(const spi::claim& queued, spi::completion<spi::wake> done) override {
    store_->watch.on_call(queued, std::move(done));
  }
  void leave(const spi::claim& ours, spi::caller, spi::completion<bool> done) override {
    store_->leave.on_call(ours, std::move(done));
    store_->watch.complete_if([&](const spi::claim& c) { return c.id == ours.id; }, spi::wake(spi::look_again{}));
  }
  void renew(const std::vector<spi::claim>& held, spi::completion<std::vector<spi::renewal_outcome>> done) override {
    store_->renew.on_call(held, std::move(done));
  }
  void raise(const spi::claim& held, fencing_token floor, spi::caller, spi::completion<bool> done) override {
    store_->raise.on_call({held, floor}, std::move(done));
  }
  void convert(const spi::claim& held, spi::access to, spi::caller, spi::completion<bool> done) override {
    store_->convert.on_call({held, to}, std::move(done));
  }
  void inspect(const std::string& prefix, spi::completion<std::vector<entry>> done) override {
    store_->inspect.on_call(prefix, std::move(done));
  }
  void evict(const std::string& name, spi::completion<bool> done) override {
    store_->evict.on_call(name, std::move(done));
  }
  std::function<void()> observe(const std::string&, std::function<void()> changed) override {
    store_->changed = std::move(changed);
    ++store_->observers;
    return [store = store_] { --store->observers; };
  }

 private:
  const std::shared_ptr<scripted_store> store_;
};

scripted_store::scripted_store(std::string name) : identity(std::move(name)) {
  supports = {true, true, true, true, true, true, true, true, true};
  enter.otherwise([this](const spi::entry_request& r) { return spi::entry_result(grant(r.claim, r.tokens)); });
  leave.otherwise([](const spi::claim&) { return true; });
  renew.otherwise([this](const std::vector<spi::claim>& c) { return renewed(c); });
  raise.otherwise([](const raised&) { return true; });
  convert.otherwise([](const converted&) { return true; });
  inspect.otherwise([](const std::string&) { return std::vector<entry>(); });
  evict.otherwise([](const std::string&) { return true; });
}

std::unique_ptr<spi::backend> scripted_store::backend(std::shared_ptr<scripted_store> store, spi::runtime& engine) {
  store->engine_ = &engine;
  return std::make_unique<scripted_backend>(std::move(store));
}

spi::granted scripted_store::grant(const spi::claim& claim, std::uint32_t tokens) {
  return {fencing_token(next_token.fetch_add(tokens)), tokens, now() + claim.ttl};
}

spi::busy scripted_store::busy() const { return {now() + std::chrono::hours(1)}; }

std::vector<spi::renewal_outcome> scripted_store::renewed(const std::vector<spi::claim>& claims) const {
  std::vector<spi::renewal_outcome> all;
  for (const auto& claim : claims) all.push_back({spi::renewal::renewed, now() + claim.ttl});
  return all;
}

void scripted_store::hang_up() {
  enter.hang_up();
  watch.hang_up();
  leave.hang_up();
  renew.hang_up();
  raise.hang_up();
  inspect.hang_up();
}

}  // namespace holdfast::testing
