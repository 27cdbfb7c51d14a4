// Any bytes as a lock file of the file store: read as far as they make sense, never beyond, and a ticket is still
// drawn.
#include "check.hpp"

#include "record.hpp"

#include <sys/mman.h>
#include <unistd.h>

using holdfast::fuzz::check;
namespace file = holdfast::file;

namespace {

/// A file in memory, written anew for each input.
int scratch_file(const unsigned char* bytes, std::size_t size) {
  static const int fd = ::memfd_create("record_fuzz", MFD_CLOEXEC);
  check(fd >= 0 && ::ftruncate(fd, 0) == 0, "there is a file in memory");
  check(::pwrite(fd, bytes, size, 0) == static_cast<ssize_t>(size), "and it can be written");
  return fd;
}

void check_holder(const std::optional<file::holder>& who) {
  if (!who) return;
  check(who->host.size() < 64 && who->client_name.size() < 128, "texts end within their fields");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  const int fd = scratch_file(bytes, size);
  if (const auto header = file::read_header(fd)) {
    check(header->name_length <= 512, "a name has 512 bytes at most");
    const auto name = file::read_name(fd, *header);
    check(name && name->size() <= header->name_length, "a name is not longer than the header says");
  } else {
    check(header.error().code == holdfast::errc::rejected, "a foreign file is errc::rejected");
  }
  check_holder(file::read_exclusive_holder(fd));
  check_holder(file::read_slot(fd, 0));
  check_holder(file::read_waiter(fd, 7));

  const auto first = file::draw_ticket(fd);
  const auto second = file::draw_ticket(fd);
  check(first && second && *first != 0 && *first != *second, "tickets are drawn from a damaged file too");

  // What is written over it reads back as it was.
  file::holder writer;
  writer.token = 9;
  writer.host = "host";
  writer.client_name = "client";
  check(file::write_slot(fd, 1, writer).has_value(), "a slot can be written");
  const auto read = file::read_slot(fd, 1);
  check(read && read->token == writer.token && read->host == "host" && read->client_name == "client", "and read back");
  return 0;
}
