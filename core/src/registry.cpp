#include "registry.hpp"

#include <dlfcn.h>

#include <array>
#include <map>
#include <mutex>

namespace holdfast {

namespace {

struct known_scheme {
  std::string_view scheme;
  std::string_view library;
};

// Every scheme of the contract and the library it lives in: so that a backend which was not built can be told from a
// scheme that does not exist.
constexpr std::array known_schemes{
    known_scheme{"memory", "memory"},
    known_scheme{"sqlite", "sqlite"},
    known_scheme{"file", "file"},
    known_scheme{"redis", "redis"},
    known_scheme{"rediss", "redis"},
    known_scheme{"redis+unix", "redis"},
    known_scheme{"redis+sentinel", "redis"},
    known_scheme{"redis+cluster", "redis"},
    known_scheme{"redlock", "redis"},
    known_scheme{"etcd", "etcd"},
    known_scheme{"etcds", "etcd"},
    known_scheme{"zk", "zookeeper"},
    known_scheme{"postgresql", "postgres"},
    known_scheme{"mysql", "mysql"},
    known_scheme{"mariadb", "mysql"},
    known_scheme{"memcached", "memcached"},
};

struct registry {
  std::mutex mutex;
  std::map<std::string, spi::registration, std::less<>> schemes;
};

registry& the_registry() {
  // Never destroyed: backend libraries may outlive this one's static destructors.
  static auto* const instance = new registry;
  return *instance;
}

std::optional<spi::registration> registered(std::string_view scheme) {
  auto& r = the_registry();
  std::lock_guard lock(r.mutex);
  const auto found = r.schemes.find(scheme);
  if (found == r.schemes.end()) return std::nullopt;
  return found->second;
}

/// Looks beside this library first: an installed or built tree is used as a whole, whatever else is on the machine.
std::string load(std::string_view library) {
  const std::string file = "libholdfast_" + std::string(library) + ".so." + std::to_string(HOLDFAST_SOVERSION);
  Dl_info self{};
  std::string beside;
  if (::dladdr(reinterpret_cast<const void*>(&the_registry), &self) != 0 && self.dli_fname != nullptr) {
    beside = self.dli_fname;
    const auto slash = beside.rfind('/');
    beside = slash == std::string::npos ? std::string() : beside.substr(0, slash + 1) + file;
  }
  // Never closed: the factory and the code of live backends are in it.
  if (!beside.empty() && ::dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return {};
  std::string why = beside.empty() ? "" : ::dlerror();
  if (::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return {};
  const char* second = ::dlerror();
  // The first reason counts where the library is there but cannot be loaded (a client library missing).
  if (why.empty() || why.find("No such file") != std::string::npos) why = second == nullptr ? "not found" : second;
  return why;
}

std::string scheme_list() {
  std::string list;
  for (const auto& known : known_schemes) list += (list.empty() ? "" : ", ") + std::string(known.scheme) + ":";
  return list;
}

}  // namespace

namespace detail {

result<spi::registration> find_backend(std::string_view scheme) {
  if (auto found = registered(scheme)) return *found;
  for (const auto& known : known_schemes) {
    if (known.scheme != scheme) continue;
    const std::string why = load(known.library);
    if (auto found = registered(scheme)) return *found;
    return {errc::unsupported, "URL: the " + std::string(known.library) + " backend for '" + std::string(scheme) +
                                   ":' is not built or not installed" + (why.empty() ? "" : ": " + why)};
  }
  return {errc::invalid_argument, "URL: unknown scheme '" + std::string(scheme) + "'; known are " + scheme_list()};
}

}  // namespace detail

namespace spi {

void register_backend(registration scheme) {
  auto& r = the_registry();
  std::lock_guard lock(r.mutex);
  auto key = scheme.scheme;
  r.schemes.insert_or_assign(std::move(key), std::move(scheme));
}

std::vector<registration> all_backends() {
  std::vector<registration> all;
  for (const auto& known : known_schemes) {
    auto found = detail::find_backend(known.scheme);
    all.push_back(found ? *found : registration{std::string(known.scheme), nullptr, {}, "not built"});
  }
  return all;
}

}  // namespace spi

}  // namespace holdfast
