#include "subcommand.hpp"

namespace holdfast::cli {

client open_store(const invocation& call, client_options options) {
  if (options.name.empty()) options.name = "holdfast";
  return call.store ? connect(*call.store, std::move(options)) : connect(std::move(options));
}

}  // namespace holdfast::cli
