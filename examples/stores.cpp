// Connecting to each store, as its page shows it: stores [memory|file|sqlite]
#include <holdfast/holdfast.hpp>

#include <iostream>
#include <string_view>

void in_memory() {
  holdfast::client c = holdfast::connect("memory:");          // the process's own store
  holdfast::client other = holdfast::connect("memory:test");  // another one, sharing nothing with it
  std::cout << c.url() << ' ' << other.url() << '\n';
}

void in_files() {
  holdfast::client c = holdfast::connect("file:///var/lib/myservice/locks");  // made if it is not there, 0700
  std::cout << c.url() << '\n';
}

void in_a_database() {
  holdfast::client c = holdfast::connect("sqlite:///var/lib/app/locks.db");
  holdfast::client own = holdfast::connect();  // $HOLDFAST_STORE, else a file of your own under ~/.local/state
  std::cout << c.url() << ' ' << own.url() << '\n';
}

int main(int argc, char** argv) {
  const std::string_view which = argc > 1 ? argv[1] : "memory";
  if (which == "file") {
    in_files();
  } else if (which == "sqlite") {
    in_a_database();
  } else {
    in_memory();
  }
}
