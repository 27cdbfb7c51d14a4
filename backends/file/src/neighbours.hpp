#pragma once

#include <holdfast/result.hpp>

#include <string>

namespace holdfast::file {

class directory;
class file_backend;

/// The clients of this process, of all directories: a lock can be taken away only by the process that has it.
///
/// Thread safety: safe.
namespace neighbours {

void add(file_backend* client);
void remove(file_backend* client);  ///< Waits for an eviction that touches it.

/// Ends the holds on a name if all are this process's. False: nobody holds it. errc::unsupported: another process does;
/// nothing is changed.
result<bool> evict(const directory& where, const std::string& name);

}  // namespace neighbours
}  // namespace holdfast::file
