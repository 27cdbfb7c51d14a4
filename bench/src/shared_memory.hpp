#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>
#include <system_error>
#include <type_traits>

namespace holdfast::bench {

/// `count` objects of T, made here and shared with the children forked later.
template <class T>
class shared_array {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  explicit shared_array(std::size_t count) : bytes_(sizeof(T) * count), count_(count) {
    void* where = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (where == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "shared memory");
    first_ = static_cast<T*>(where);
    std::uninitialized_value_construct_n(first_, count);
  }
  shared_array(const shared_array&) = delete;
  shared_array& operator=(const shared_array&) = delete;
  ~shared_array() { ::munmap(first_, bytes_); }

  T& operator[](std::size_t i) { return first_[i]; }
  const T& operator[](std::size_t i) const { return first_[i]; }
  T* operator->() { return first_; }
  std::size_t size() const { return count_; }

 private:
  std::size_t bytes_;
  std::size_t count_;
  T* first_ = nullptr;
};

}  // namespace holdfast::bench
