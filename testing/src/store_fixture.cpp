#include <holdfast/testing/store_fixture.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

namespace holdfast::testing {

namespace {

[[noreturn]] void no_server() { throw std::logic_error("this store has no server: ask has_server() first"); }

}  // namespace

client store_fixture::make_client(client_options options, std::size_t index) const {
  return connect(url(index), std::move(options));
}

void store_fixture::lose(std::string_view name, std::size_t index) const {
  client administrator = make_client({.name = "administrator"}, index);
  if (!administrator.evict(name)) throw std::logic_error("nobody held " + std::string(name));
}

bool store_fixture::take_away() { return false; }
void store_fixture::kill_server() { no_server(); }
void store_fixture::start_server() { no_server(); }
void store_fixture::pause_server() { no_server(); }
void store_fixture::resume_server() { no_server(); }

std::ostream& operator<<(std::ostream& out, const store_parameter& store) { return out << store.label; }

bool fits_shedlock(std::string_view name) {
  return std::count_if(name.begin(), name.end(), [](char c) { return (c & 0xc0) != 0x80; }) <= 64;
}

std::string unique_name(std::string_view stem) {
  static std::atomic<int> next{0};
  return std::string(stem) + "-" + std::to_string(::getpid()) + "-" + std::to_string(++next);
}

}  // namespace holdfast::testing
