#pragma once

#include "json.hpp"

#include <holdfast/inspect.hpp>

#include <string>
#include <vector>

namespace holdfast::cli {

/// The fields of inspect as docs/json.md has them.
void write_participant(json_writer& out, const participant& who);
void write_entry(json_writer& out, const entry& lock);

/// `rsync on db1, pid 4711`.
std::string who_text(const participant& who);
/// `shared`, `2 permits`, or nothing to add.
std::string share_text(const participant& who);
/// How long ago `since` was, by this machine's clock.
std::string age_text(const participant& who);

}  // namespace holdfast::cli
