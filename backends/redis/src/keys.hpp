#pragma once

#include <holdfast/backend.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis {

/// The name as it stands in derived keys and channels: in braces, which keep them in its slot, unless it brings its
/// own.
std::string tag_of(const std::string& name);

/// Are all keys and channels of the name in its slot of a cluster? Not with braces of its own that are no hash tag; of
/// a latch with none at all.
bool keeps_its_slot(spi::kind k, std::string_view name);

/// All of a lock, the name first; script_text.hpp tells what they are.
std::vector<std::string> lock_keys(const std::string& name);
/// A key of ours beside a name. Unlike Redisson's, those of `a` and `{a}` differ.
std::string own_key(std::string_view what, const std::string& name);
/// The name one of those by which names are found stands beside; nullopt: it is none.
std::optional<std::string> name_of(std::string_view key);

/// Globs that match keys of ours beside names with this prefix (`what` as own_key has it, or a glob of those), or the
/// names themselves.
std::vector<std::string> own_key_patterns(std::string_view what, const std::string& prefix);
std::string name_pattern(const std::string& prefix);

char letter(spi::kind k) noexcept;
std::optional<spi::kind> kind_of(char letter) noexcept;
/// Where clients that are not ours wait for news of a name.
std::string public_channel(spi::kind k, const std::string& name);
std::string client_channel(const std::string& uuid);
/// Where Redisson wakes those in a fair queue that are ours, whatever the name.
std::string fair_pattern(const std::string& uuid);
/// Where Redisson wakes one of ours in a fair queue.
std::string fair_channel(const std::string& name, const std::string& owner);
/// What a client listens to at each node of a cluster where it waits, to be known there; nobody publishes on it.
std::string presence_channel(const std::string& uuid);
inline constexpr const char* event_channel = "holdfast_event";

/// A random UUID, as Redisson names its clients.
std::string random_uuid();
/// How a claim of the client is spelt as an owner: `<uuid>:<number>`, as Redisson does it.
std::string owner_of(const std::string& uuid, const spi::owner_id& id);

}  // namespace holdfast::redis
