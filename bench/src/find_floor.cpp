#include "floor.hpp"

#include <holdfast/client.hpp>

#include <dlfcn.h>

#include <string_view>

namespace holdfast::bench {

namespace {

// rediss, redis+unix and redis+cluster are all measured against the same raw client.
std::string store_of(std::string_view scheme) {
  const auto plus = scheme.find('+');
  std::string store(scheme.substr(0, plus));
  if (store == "rediss" || store == "etcds") store.pop_back();
  if (store == "postgresql") return "postgres";
  if (store == "mariadb") return "mysql";
  return store == "zk" ? "zookeeper" : store;
}

std::string core_directory() {
  Dl_info core{};
  // The module lies beside the core library, as the backends do.
  if (::dladdr(reinterpret_cast<const void*>(&holdfast::default_url), &core) == 0 || core.dli_fname == nullptr)
    return {};
  const std::string path = core.dli_fname;
  const auto slash = path.rfind('/');
  return slash == path.npos ? std::string() : path.substr(0, slash + 1);
}

floor_symbol load(const std::string& store, std::string& why) {
  const std::string file = "libholdfast_floor_" + store + ".so";
  const std::string beside = core_directory();
  void* module = nullptr;
  // With a static core the second one is right: the command is in bin.
  for (const std::string& path : {beside + file, beside + "../lib/" + file, file}) {
    module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module != nullptr) break;
  }
  if (module == nullptr) {
    why = ::dlerror();
    return nullptr;
  }
  const auto symbol = reinterpret_cast<floor_symbol>(::dlsym(module, ("holdfast_floor_" + store).c_str()));
  if (symbol == nullptr) why = file + " defines no floor";
  return symbol;
}

}  // namespace

const store_floor* find_floor(const std::string& scheme, std::string& why) {
  const std::string store = store_of(scheme);
  if (store == "memory") return holdfast_floor_memory();
  if (store == "file") return holdfast_floor_file();
  const floor_symbol symbol = load(store, why);
  return symbol == nullptr ? nullptr : symbol();
}

}  // namespace holdfast::bench
