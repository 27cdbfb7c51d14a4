#include <holdfast/testing/store_fixture.hpp>
#include <holdfast/testing/temporary_directory.hpp>

#include <filesystem>

namespace holdfast::testing {

namespace {

spi::capabilities everything() {
  return {.mutex = true,
          .shared_mutex = true,
          .permits = true,
          .semaphore = true,
          .latch = true,
          .cell = true,
          .fence = true,
          .fifo = true,
          .raise_token = true};
}

class memory_fixture final : public store_fixture {
 public:
  std::string url(std::size_t index) const override { return "memory:" + name_ + "-" + std::to_string(index); }
  spi::capabilities supports() const override { return everything(); }
  bool cross_process() const override { return false; }

 private:
  std::string name_ = unique_name("store");
};

class sqlite_fixture final : public store_fixture {
 public:
  std::string url(std::size_t index) const override {
    return "sqlite://" + (directory_.path() / (std::to_string(index) + ".db")).string();
  }
  spi::capabilities supports() const override { return everything(); }
  bool cross_process() const override { return true; }
  bool take_away() override { return std::filesystem::remove_all(directory_.path()) > 0; }

 private:
  temporary_directory directory_;
};

class file_fixture final : public store_fixture {
 public:
  std::string url(std::size_t index) const override {
    return "file://" + (directory_.path() / std::to_string(index)).string();
  }
  /// What issue and contract ask of it at least; what else it can do is its own to add here.
  spi::capabilities supports() const override {
    return {.mutex = true, .shared_mutex = true, .permits = true, .raise_token = true};
  }
  bool cross_process() const override { return true; }
  bool expires_paused_holders() const override { return false; }
  bool take_away() override { return std::filesystem::remove_all(directory_.path()) > 0; }

 private:
  temporary_directory directory_;
};

}  // namespace

store_parameter memory_store() {
  return {"memory", [] { return std::make_unique<memory_fixture>(); }};
}
store_parameter sqlite_store() {
  return {"sqlite", [] { return std::make_unique<sqlite_fixture>(); }};
}
store_parameter file_store() {
  return {"file", [] { return std::make_unique<file_fixture>(); }};
}

}  // namespace holdfast::testing
