#include <holdfast/testing/loopback.hpp>
#include <holdfast/testing/postgres_server.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace holdfast::testing {

namespace {

namespace fs = std::filesystem;

/// Debian keeps the server's programs off the path, a folder per version. The newest.
std::string program(const std::string& name) {
  std::string found = name;
  int newest = 0;
  std::error_code none;
  for (const auto& one : fs::directory_iterator("/usr/lib/postgresql", none)) {
    const int version = std::atoi(one.path().filename().c_str());
    if (version <= newest || !fs::exists(one.path() / "bin" / name)) continue;
    newest = version;
    found = (one.path() / "bin" / name).string();
  }
  return found;
}

void shell(const std::string& command) {
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const auto& word : words) all += word + " ";
  return all;
}

/// A data directory as initdb makes it, which takes a second: made once, beside the test programs, and copied.
fs::path pristine() {
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  // Each version has its own format.
  const fs::path made =
      here / ("postgres.pristine." + fs::path(program("initdb")).parent_path().parent_path().filename().string());
  const int lock = ::open((here / "postgres.pristine.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) throw std::runtime_error("no lock file beside the test programs");
  ::flock(lock, LOCK_EX);
  if (!fs::exists(made)) {
    const temporary_directory scratch;
    const std::string data = (scratch.path() / "data").string();
    fs::permissions(scratch.path(), fs::perms(0755));
    if (::geteuid() == 0) shell("chown postgres:postgres '" + scratch.path().string() + "'");
    shell("cd / && " + joined(postgres_server::run_as()) + program("initdb") + " -D '" + data +
          "' -U postgres -A trust --no-sync --no-locale -E UTF8 --wal-segsize=1 > /dev/null");
    // One that was interrupted may have left something.
    shell("rm -rf '" + made.string() + ".new' && cp -a '" + data + "' '" + made.string() + ".new' && mv '" +
          made.string() + ".new' '" + made.string() + "'");
  }
  ::close(lock);
  return made;
}

/// A thousand files for every test: in memory, if that can be had.
fs::path fast_place() {
  const fs::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path();
}

}  // namespace

std::vector<std::string> postgres_server::run_as() {
  if (::geteuid() != 0) return {};
  return {"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=KILL"};
}

postgres_server::postgres_server(std::vector<std::string> settings)
    : settings_(std::move(settings)), directory_(fast_place()) {
  own_directory();
  shell("cp -a '" + pristine().string() + "' '" + data() + "'");
  start_somewhere();
}

postgres_server::postgres_server(standby_of whom, std::vector<std::string> settings)
    : settings_(std::move(settings)), directory_(fast_place()) {
  own_directory();
  shell("cd / && " + joined(run_as()) + program("pg_basebackup") +
        " -R -c fast --no-sync -h 127.0.0.1 -U postgres -p " + std::to_string(whom.primary.port()) + " -D '" + data() +
        "'");
  start_somewhere();
}

void postgres_server::start_somewhere() {
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

void postgres_server::own_directory() const {
  fs::permissions(directory_.path(), fs::perms(0755));
  if (::geteuid() == 0) shell("chown postgres:postgres '" + directory() + "'");
}

postgres_server::~postgres_server() {
  if (running()) stop();
  forget_memory();
}

std::string postgres_server::url(const std::string& options, const std::string& user) const {
  return "postgresql://" + user + "@127.0.0.1:" + std::to_string(port_) + "/postgres" + options;
}

std::string postgres_server::url_of(const std::string& database, const std::string& options) const {
  return "postgresql://postgres@127.0.0.1:" + std::to_string(port_) + "/" + database + options;
}

void postgres_server::start() {
  auto words = run_as();
  words.insert(words.end(), {program("postgres"), "-D", data(), "-p", std::to_string(port_)});
  for (const char* setting :
       {"listen_addresses=127.0.0.1", "fsync=off", "synchronous_commit=off", "full_page_writes=off",
        "max_connections=600", "shared_buffers=16MB", "dynamic_shared_memory_type=mmap"})
    words.insert(words.end(), {"-c", setting});
  words.insert(words.end(), {"-c", "unix_socket_directories=" + directory()});
  for (const auto& setting : settings_) words.insert(words.end(), {"-c", setting});
  process_.launch(std::move(words), directory() + "/log");
  if (process_.await([this] { return answers(); })) return;
  throw std::runtime_error(process_.missing() ? "PostgreSQL is not installed" : "PostgreSQL did not start");
}

bool postgres_server::answers() const {
  const int fd = dial(port_);
  if (fd < 0) return false;
  ::close(fd);
  // It accepts connections before it is ready to serve them: the word for that is in its own file.
  std::ifstream file(data() + "/postmaster.pid");
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with("ready") || line.starts_with("standby")) return true;
  return false;
}

std::vector<pid_t> postgres_server::children() const {
  const std::string pid = std::to_string(process_.pid());
  std::ifstream list("/proc/" + pid + "/task/" + pid + "/children");
  std::vector<pid_t> all;
  for (pid_t one = 0; list >> one;) all.push_back(one);
  return all;
}

void postgres_server::kill() {
  ::kill(process_.pid(), SIGSTOP);  // it would start a new child for one that dies
  const auto others = children();
  for (const pid_t one : others) ::kill(one, SIGKILL);
  process_.kill();
  // Their memory must be free before the next one starts.
  const bool gone = eventually(
      [&] { return std::none_of(others.begin(), others.end(), [](pid_t one) { return ::kill(one, 0) == 0; }); });
  if (!gone) throw std::runtime_error("a process of PostgreSQL outlives SIGKILL");
}

void postgres_server::stop() {
  resume();
  ::kill(process_.pid(), SIGQUIT);
  if (!eventually([this] { return process_.ended(); })) kill();
}

void postgres_server::pause() {
  process_.pause();
  for (const pid_t one : children()) ::kill(one, SIGSTOP);
}

void postgres_server::resume() {
  for (const pid_t one : children()) ::kill(one, SIGCONT);
  process_.resume();
}

/// One that was killed leaves a segment of shared memory behind, by which the next one knows that it is alone.
void postgres_server::forget_memory() const {
  std::ifstream file(data() + "/postmaster.pid");
  std::string line;
  for (int i = 0; i < 7; ++i) std::getline(file, line);
  int key = 0;
  int segment = -1;
  if (std::sscanf(line.c_str(), "%d %d", &key, &segment) == 2) ::shmctl(segment, IPC_RMID, nullptr);
}

std::string postgres_server::query(const std::string& statements, const std::string& user) const {
  static std::atomic<unsigned> last{0};
  const std::string file = directory() + "/statements." + std::to_string(++last);  // several threads may ask
  std::ofstream(file) << statements;
  const std::string command = "psql -X -q -A -t -v ON_ERROR_STOP=1 -h 127.0.0.1 -p " + std::to_string(port_) + " -U " +
                              user + " -d postgres -f '" + file + "' 2>&1";
  FILE* out = ::popen(command.c_str(), "r");
  if (out == nullptr) throw std::runtime_error("psql cannot be run");
  std::string said;
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, out)) said.append(buffer, got);
  const int status = ::pclose(out);
  ::unlink(file.c_str());
  while (said.ends_with('\n')) said.pop_back();
  if (status != 0) throw std::runtime_error("psql: " + said);
  return said;
}

}  // namespace holdfast::testing
