#include <holdfast/testing/shared_counter.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <thread>

namespace holdfast::testing {

shared_counter::shared_counter(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "open " + file.string());
  // Growing a file of the same size again changes nothing: whoever comes first makes the zero.
  void* mapped = MAP_FAILED;
  if (::ftruncate(fd, sizeof(std::int64_t)) == 0) {
    mapped = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  const int why = errno;
  ::close(fd);
  if (mapped == MAP_FAILED) throw std::system_error(why, std::generic_category(), "map " + file.string());
  number_ = static_cast<volatile std::int64_t*>(mapped);
}

shared_counter::~shared_counter() { ::munmap(const_cast<std::int64_t*>(number_), sizeof(std::int64_t)); }

void shared_counter::increment() {
  const std::int64_t seen = *number_;
  std::this_thread::yield();
  *number_ = seen + 1;
}

}  // namespace holdfast::testing
