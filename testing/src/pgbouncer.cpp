#include <holdfast/testing/loopback.hpp>
#include <holdfast/testing/pgbouncer.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace holdfast::testing {

namespace fs = std::filesystem;

pgbouncer::pgbouncer(const postgres_server& behind, std::string mode) : mode_(std::move(mode)) {
  fs::permissions(directory_.path(), fs::perms(0755));
  // Another test may take the port before it does.
  for (int attempt = 0; !process_.running(); ++attempt) {
    port_ = free_port();
    try {
      start(behind);
    } catch (const std::runtime_error&) {
      if (attempt == 4 || process_.missing()) throw;
    }
  }
}

std::string pgbouncer::url() const { return "postgresql://postgres@127.0.0.1:" + std::to_string(port_) + "/postgres"; }

void pgbouncer::start(const postgres_server& behind) {
  const std::string file = (directory_.path() / "pgbouncer.ini").string();
  std::ofstream(file) << "[databases]\npostgres = host=127.0.0.1 user=postgres port=" << behind.port()
                      << "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nunix_socket_dir =\nauth_type = any\nlisten_port = "
                      << port_ << "\npool_mode = " << mode_ << "\n";
  fs::permissions(file, fs::perms(0644));
  auto words = postgres_server::run_as();
  words.insert(words.end(), {"/usr/sbin/pgbouncer", file});
  const std::string log = (directory_.path() / "log").string();
  process_.launch(std::move(words), log);
  const auto listens = [&] {
    std::ifstream said(log);
    const std::string text(std::istreambuf_iterator<char>(said), {});
    return text.find("listening on 127.0.0.1:" + std::to_string(port_)) != text.npos;
  };
  if (process_.await(listens)) return;
  throw std::runtime_error(process_.missing() ? "PgBouncer is not installed" : "PgBouncer did not start");
}

}  // namespace holdfast::testing
