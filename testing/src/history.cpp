#include <holdfast/testing/history.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace holdfast::testing {

namespace {

struct hold {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::uint64_t token = 0;
  std::int64_t pid = 0;
};

std::string tell(const hold& h) {
  return "token " + std::to_string(h.token) + " of process " + std::to_string(h.pid) + " [" + std::to_string(h.from) +
         ", " + std::to_string(h.to) + "]";
}

}  // namespace

history_writer::history_writer(const std::filesystem::path& file)
    : file_(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), "open " + file.string());
}

history_writer::~history_writer() { ::close(file_); }

void history_writer::add(occurrence::kind what, fencing_token token, lease_clock::time_point at) const {
  std::ostringstream line;
  line << static_cast<char>(what) << ' ' << at.time_since_epoch().count() << ' ' << token.value() << ' ' << ::getpid()
       << '\n';
  const std::string text = line.str();
  if (::write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::system_error(errno, std::generic_category(), "append to the history");
  }
}

std::vector<occurrence> read_history(const std::filesystem::path& file) {
  std::vector<occurrence> seen;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    char what = 0;
    occurrence next;
    if (!(fields >> what >> next.at >> next.token >> next.pid) ||
        std::string_view("gvr").find(what) == std::string::npos) {
      throw std::runtime_error("torn line in the history: " + line);
    }
    next.what = static_cast<occurrence::kind>(what);
    seen.push_back(next);
  }
  return seen;
}

std::optional<std::string> contradiction(const std::vector<occurrence>& history) {
  std::map<std::uint64_t, hold> holds;
  for (const occurrence& seen : history) {
    if (seen.what != occurrence::kind::granted) continue;
    const auto [known, fresh] = holds.try_emplace(seen.token, hold{seen.at, seen.at, seen.token, seen.pid});
    if (!fresh) return "granted twice: " + tell(known->second);
  }
  for (const occurrence& seen : history) {
    const auto found = holds.find(seen.token);
    if (found == holds.end()) return "never granted: token " + std::to_string(seen.token);
    found->second.to = std::max(found->second.to, seen.at);
  }
  // The map is in the order of tokens: exclusion and increasing tokens together mean that each hold ends before the
  // next begins.
  const hold* before = nullptr;
  for (const auto& [token, now] : holds) {
    if (before != nullptr && before->to > now.from) return tell(*before) + " is not over before " + tell(now);
    before = &now;
  }
  return std::nullopt;
}

std::size_t grants(const std::vector<occurrence>& history) {
  return static_cast<std::size_t>(std::count_if(
      history.begin(), history.end(), [](const occurrence& o) { return o.what == occurrence::kind::granted; }));
}

}  // namespace holdfast::testing
