#include "ledger.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <new>
#include <system_error>

namespace holdfast::cli {

ledger::ledger() {
  void* const memory = ::mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "cannot map shared memory");
  page_ = new (memory) page{};
}

ledger::~ledger() { ::munmap(page_, sizeof(page)); }

}  // namespace holdfast::cli
