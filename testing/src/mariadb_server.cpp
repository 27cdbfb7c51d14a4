#include <holdfast/testing/loopback.hpp>
#include <holdfast/testing/mariadb_server.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace holdfast::testing {

namespace {

namespace fs = std::filesystem;

void shell(const std::string& command) {
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

/// As root it refuses to run unless it is told who it is.
std::string user_word() { return ::geteuid() == 0 ? "--user=root" : "--skip-name-resolve"; }

/// A small one: every test has its own. Nothing waits for a disk.
std::vector<std::string> small_words() {
  return {"--skip-name-resolve",
          "--innodb-flush-log-at-trx-commit=0",
          "--innodb-buffer-pool-size=16M",
          "--innodb-log-file-size=4M",
          "--innodb-data-file-path=ibdata1:2M:autoextend",
          "--performance-schema=OFF",
          "--skip-log-bin",
          "--innodb-doublewrite=0",
          "--innodb-flush-method=nosync",
          "--aria-pagecache-buffer-size=1M",
          "--key-buffer-size=1M",
          "--max-connections=600"};
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const auto& word : words) all += " " + word;
  return all;
}

/// A data directory as mariadb-install-db makes it, which takes a second: made once, beside the test programs, and
/// copied.
fs::path pristine() {
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path made = here / "mariadb.pristine";
  const int lock = ::open((here / "mariadb.pristine.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) throw std::runtime_error("no lock file beside the test programs");
  ::flock(lock, LOCK_EX);
  if (!fs::exists(made)) {
    const temporary_directory scratch;
    const std::string data = (scratch.path() / "data").string();
    shell("mariadb-install-db --no-defaults " + user_word() + " --datadir='" + data +
          "' --auth-root-authentication-method=normal --skip-test-db" + joined(small_words()) + " > /dev/null 2>&1");
    fs::create_directory(data + "/holdfast");
    // One that was interrupted may have left something. Most of it is room for what is to come.
    shell("rm -rf '" + made.string() + ".new' && cp -a --sparse=always '" + data + "' '" + made.string() +
          ".new' && mv '" + made.string() + ".new' '" + made.string() + "'");
  }
  ::close(lock);
  return made;
}

fs::path fast_place() {
  const fs::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path();
}

}  // namespace

mariadb_server::mariadb_server(std::vector<std::string> settings)
    : settings_(std::move(settings)), directory_(fast_place()) {
  shell("cp -a --sparse=always '" + pristine().string() + "' '" + directory() + "/data'");
  // Another test may take the port before the server does.
  for (int attempt = 0; !process_.running(); ++attempt) {
    port_ = free_port();
    try {
      start();
    } catch (const std::runtime_error&) {
      if (attempt == 4 || process_.missing()) throw;
    }
  }
}

std::string mariadb_server::url(const std::string& options, const std::string& user) const {
  return "mysql://" + user + "@127.0.0.1:" + std::to_string(port_) + "/holdfast" + options;
}

std::string mariadb_server::url_of(const std::string& database, const std::string& options) const {
  return "mysql://root@127.0.0.1:" + std::to_string(port_) + "/" + database + options;
}

void mariadb_server::start() {
  std::vector<std::string> words{"mariadbd", "--no-defaults", user_word(), "--bind-address=127.0.0.1"};
  words.push_back("--port=" + std::to_string(port_));
  words.push_back("--datadir=" + directory() + "/data");
  words.push_back("--socket=" + socket());
  words.push_back("--tmpdir=" + directory());  // one that starts throws away what it finds there, of others too
  words.push_back("--pid-file=" + directory() + "/pid");
  for (auto& word : small_words()) words.push_back(std::move(word));
  for (const auto& setting : settings_) words.push_back(setting);
  ::unlink((directory() + "/pid").c_str());
  process_.launch(std::move(words), directory() + "/log");
  if (process_.await([this] { return answers(); })) return;
  throw std::runtime_error(process_.missing() ? "MariaDB is not installed" : "MariaDB did not start");
}

/// It writes its number when it is about to serve. A port may be another server's.
bool mariadb_server::answers() const {
  std::ifstream file(directory() + "/pid");
  pid_t who = 0;
  if (!(file >> who) || who != process_.pid()) return false;
  const int fd = dial(port_);
  if (fd < 0) return false;
  ::close(fd);
  return true;
}

void mariadb_server::kill() { process_.kill(); }
void mariadb_server::pause() { process_.pause(); }
void mariadb_server::resume() { process_.resume(); }

std::string mariadb_server::query(const std::string& statements, const std::string& user) const {
  static std::atomic<unsigned> last{0};
  const std::string file = directory() + "/statements." + std::to_string(++last);  // several threads may ask
  std::ofstream(file) << statements;
  const std::string command =
      "mariadb --no-defaults -N -B -S '" + socket() + "' -u " + user + " holdfast < '" + file + "' 2>&1";
  FILE* out = ::popen(command.c_str(), "r");
  if (out == nullptr) throw std::runtime_error("mariadb cannot be run");
  std::string said;
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, out)) said.append(buffer, got);
  const int status = ::pclose(out);
  ::unlink(file.c_str());
  while (said.ends_with('\n')) said.pop_back();
  if (status != 0) throw std::runtime_error("mariadb: " + said);
  return said;
}

}  // namespace holdfast::testing
