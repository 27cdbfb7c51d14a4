// Connecting to each store, as its page shows it: stores [memory|file]
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

int main(int argc, char** argv) {
  const std::string_view which = argc > 1 ? argv[1] : "memory";
  if (which == "file") {
    in_files();
  } else {
    in_memory();
  }
}
