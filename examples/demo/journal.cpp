#include "journal.hpp"

#include <fstream>

namespace demo {

void journal::append(const grant& entry) const {
  std::ofstream(file_, std::ios::app) << entry.token << ' ' << entry.pid << ' ' << entry.when.count() << '\n';
}

std::vector<grant> journal::read() const {
  std::vector<grant> grants;
  std::ifstream in(file_);
  grant entry;
  std::int64_t nanoseconds = 0;
  while (in >> entry.token >> entry.pid >> nanoseconds) {
    entry.when = std::chrono::nanoseconds(nanoseconds);
    grants.push_back(entry);
  }
  return grants;
}

}  // namespace demo
