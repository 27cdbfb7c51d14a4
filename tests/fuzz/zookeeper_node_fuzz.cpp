// The names and contents of nodes that anybody may have made.
#include "check.hpp"

#include "badge.hpp"
#include "count_record.hpp"
#include "line.hpp"
#include "names.hpp"

#include <string>

using holdfast::fuzz::check;
namespace zookeeper = holdfast::zookeeper;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  const std::string text(holdfast::fuzz::text_of(bytes, size));
  const std::string own = "_c_00000000-0000-4000-8000-000000000000-lock-0000000005";
  if (const auto one = zookeeper::contender::parse(text)) check(one->name == text, "a node keeps its name");
  static_cast<void>(zookeeper::owner_in(text));
  static_cast<void>(zookeeper::judge({text, own}, own));
  static_cast<void>(zookeeper::name_of("", "/" + text));
  const auto worn = zookeeper::badge::read(text);
  check(zookeeper::badge::read(worn.text()).pid == worn.pid, "a badge comes back as it went");
  if (const auto record = zookeeper::count_record::read(text)) {
    const auto again = zookeeper::count_record::read(record->text());
    check(again && again->value == record->value, "a number comes back as it went");
  }
  return 0;
}
