#include "engine.hpp"
#include "reactor.hpp"
#include "registry.hpp"
#include "terms.hpp"
#include "thread_pool.hpp"

namespace holdfast::detail {

namespace {

// With the reactor, the renewer, the worker, the loss thread and the program's own this stays below eight.
constexpr std::size_t callback_threads = 2;

result<void> check(const client_options& options) {
  if (auto ttl = check_ttl(options.ttl); !ttl) return ttl;
  if (options.connect_timeout <= 0ns) return {errc::invalid_argument, "connect_timeout: must be more than nothing"};
  if (options.request_timeout <= 0ns) return {errc::invalid_argument, "request_timeout: must be more than nothing"};
  return {};
}

engine_parts own_threads(const client_options& options) {
  engine_parts parts;
  parts.outlet = std::make_shared<outlet>(options.log);
  const auto report = [out = parts.outlet](const char* what) {
    out->log(log_level::error, std::string("a callback threw: ") + what);
  };
  parts.descriptors = std::make_shared<reactor>(report);
  parts.time = parts.descriptors;
  parts.callbacks = std::make_shared<thread_pool>("hf-callback", callback_threads, report);
  parts.losses = std::make_shared<thread_pool>("hf-loss", 1, report);
  parts.workers = std::make_shared<thread_pool>("hf-worker", 1, report);
  parts.renewals = std::make_shared<thread_pool>("hf-renewer", 1, report);
  return parts;
}

}  // namespace

result<std::shared_ptr<engine>> open_engine(std::string_view url, client_options options) {
  if (auto good = check(options); !good) return good.error();
  auto where = uri::parse(url);
  if (!where) return where.error();
  auto scheme = find_backend(where->scheme);
  if (!scheme) return scheme.error();
  try {
    auto parts = own_threads(options);
    auto shown = where->redacted();
    return engine::make(std::move(parts), std::move(options), std::move(shown),
                        [&](spi::runtime& runtime) { return scheme->make(std::move(*where), runtime); });
  } catch (const std::system_error& e) {
    return {errc::unavailable, e.what()};  // no descriptors or threads left
  }
}

}  // namespace holdfast::detail
