// One ZooKeeper server for a whole run of ctest: a JVM takes too long to start for every test to have one.
//
//   zookeeper_keeper start FILE    returns when it serves; FILE then says who keeps it and where it is
//   zookeeper_keeper stop FILE
//
// The keeper ends with whoever called `start`, however that ends, and the server with the keeper.

#include <holdfast/testing/eventually.hpp>
#include <holdfast/testing/zookeeper_server.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

using namespace holdfast::testing;

/// Until it is told to, or `master` is no more.
void wait_for_the_end(pid_t master) {
  sigset_t told;
  sigemptyset(&told);
  sigaddset(&told, SIGTERM);
  sigprocmask(SIG_BLOCK, &told, nullptr);
  pollfd ends[]{{static_cast<int>(::syscall(SYS_pidfd_open, master, 0)), POLLIN, 0},
                {::signalfd(-1, &told, SFD_CLOEXEC), POLLIN, 0}};
  if (ends[0].fd < 0) return;  // it is gone already
  while (::poll(ends, 2, -1) < 0) {
  }
}

void keep(const std::string& file, pid_t master, int ready) {
  const zookeeper_server server;
  const std::string draft = file + "." + std::to_string(::getpid());
  std::ofstream(draft) << ::getpid() << ' ' << server.address() << '\n';
  std::filesystem::rename(draft, file);
  if (::write(ready, "x", 1) != 1) return;
  wait_for_the_end(master);
  std::ifstream written(file);
  pid_t keeper = 0;
  if (written >> keeper && keeper == ::getpid()) std::filesystem::remove(file);
}

int start(const std::string& file) {
  const pid_t master = ::getppid();
  int ready[2];
  if (::pipe2(ready, O_CLOEXEC) != 0) return 1;
  if (::fork() == 0) {
    ::setsid();
    // ctest waits for the end of what it was given to read.
    const int nowhere = ::open("/dev/null", O_RDWR);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, fd);
    try {
      keep(file, master, ready[1]);
    } catch (const std::exception&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  ::close(ready[1]);
  char byte = 0;
  if (::read(ready[0], &byte, 1) == 1) return 0;
  std::fputs("ZooKeeper did not start: are libzookeeper-java and a Java runtime installed?\n", stderr);
  return 1;
}

int stop(const std::string& file) {
  std::ifstream written(file);
  pid_t keeper = 0;
  if (!(written >> keeper)) return 0;
  ::kill(keeper, SIGTERM);
  return eventually([&] { return ::kill(keeper, 0) != 0; }) ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  if (count == 3 && std::string(words[1]) == "start") return start(words[2]);
  if (count == 3 && std::string(words[1]) == "stop") return stop(words[2]);
  std::fputs("usage: zookeeper_keeper start|stop FILE\n", stderr);
  return 64;
}
