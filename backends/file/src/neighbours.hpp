#pragma once

#include <holdfast/result.hpp>

#include <string>

namespace holdfast::file {

class directory;
class file_backend;

/// The clients of this process, of all directories: what they hold can be taken from them here and now.
///
/// Thread safety: safe.
namespace neighbours {

void add(file_backend* client);
void remove(file_backend* client);  ///< Waits for an eviction that touches it.

/// Ends every hold on a name. False: nobody holds it. This process's are told before the next one can get in. Another
/// process cannot be made to unlock its file, so that is replaced; it hears of it a moment later. errc::unsupported:
/// another process holds it and the file system is remote, where nobody would hear of it; nothing is changed.
result<bool> evict(const directory& where, const std::string& name);

}  // namespace neighbours
}  // namespace holdfast::file
