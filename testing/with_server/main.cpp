// with_server postgres|mariadb COMMAND [ARGUMENT...]: runs the command with $HOLDFAST_STORE at a private server, and
// ends as it does.
#include <holdfast/testing/mariadb_server.hpp>
#include <holdfast/testing/postgres_server.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <string_view>

namespace {

template <class Server>
int run(char** words) {
  const Server server;
  ::setenv("HOLDFAST_STORE", server.url().c_str(), 1);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execvp(words[0], words);
    ::_exit(127);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return 126;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

int main(int count, char** words) {
  const std::string_view which = count > 2 ? words[1] : "";
  try {
    if (which == "postgres") return run<holdfast::testing::postgres_server>(words + 2);
    if (which == "mariadb") return run<holdfast::testing::mariadb_server>(words + 2);
  } catch (const std::exception& why) {
    std::cerr << "with_server: " << why.what() << '\n';
    return 125;
  }
  std::cerr << "usage: with_server postgres|mariadb COMMAND [ARGUMENT...]\n";
  return 64;
}
