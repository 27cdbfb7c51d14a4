#include "script.hpp"

#include "reply.hpp"
#include "script_text.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <utility>

namespace holdfast::redis {

namespace {

using block = std::array<std::uint32_t, 5>;

void digest(block& state, const unsigned char* chunk) {
  std::array<std::uint32_t, 80> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    w[i] = std::uint32_t{chunk[4 * i]} << 24 | std::uint32_t{chunk[4 * i + 1]} << 16 |
           std::uint32_t{chunk[4 * i + 2]} << 8 | std::uint32_t{chunk[4 * i + 3]};
  }
  for (std::size_t i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  auto [a, b, c, d, e] = state;
  for (std::size_t i = 0; i < 80; ++i) {
    std::uint32_t f = b ^ c ^ d;
    std::uint32_t k = i < 40 ? 0x6ed9eba1U : 0xca62c1d6U;
    if (i < 20) {
      f = (b & c) | (~b & d);
      k = 0x5a827999U;
    } else if (i >= 40 && i < 60) {
      f = (b & c) | (b & d) | (c & d);
      k = 0x8f1bbcdcU;
    }
    const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
}

/// With every @word replaced by the text it stands for.
std::string expanded(std::string_view part) {
  static constexpr std::pair<std::string_view, const std::string_view&> pieces[] = {
      {"@draw", lua_draw}, {"@seat", lua_seat}, {"@move_up", lua_move_up}};
  std::string whole(part);
  for (const auto& [word, text] : pieces)
    for (auto at = whole.find(word); at != whole.npos; at = whole.find(word)) whole.replace(at, word.size(), text);
  return whole;
}

script of(std::initializer_list<std::string_view> parts) {
  std::string whole;
  for (const auto part : parts) whole += expanded(part);
  return script(std::move(whole));
}

script with_prelude(std::string_view body) {
  return of({lua_head, lua_clock, lua_turns, lua_keys, lua_line, lua_prelude, body});
}

script plain(std::string_view body, std::string_view usual_case = {}) {
  return of({lua_plain_head, lua_clock, usual_case, lua_line, lua_plain_prelude, body});
}

/// For what a layout has not: nobody asks for it.
script none() { return script("return redis.error_reply('UNSUPPORTED')"); }

}  // namespace

std::string sha1(std::string_view text) {
  std::string padded(text);
  padded += '\x80';
  while (padded.size() % 64 != 56) padded += '\0';
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(bits >> shift & 0xff);
  block state{0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U, 0xc3d2e1f0U};
  for (std::size_t at = 0; at < padded.size(); at += 64)
    digest(state, reinterpret_cast<const unsigned char*>(padded.data()) + at);
  std::string hex;
  for (const std::uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[word >> shift & 0xf];
  return hex;
}

script::script(std::string body) : body_(std::move(body)), hash_(sha1(body_)) {}

std::string script::by_hash(const std::vector<std::string>& keys, const std::vector<std::string>& arguments) const {
  return command("EVALSHA", hash_, keys, arguments);
}

std::string script::by_text(const std::vector<std::string>& keys, const std::vector<std::string>& arguments) const {
  return command("EVAL", body_, keys, arguments);
}

std::string script::command(std::string_view verb, std::string_view what, const std::vector<std::string>& keys,
                            const std::vector<std::string>& arguments) const {
  std::vector<std::string_view> words{verb, what};
  const std::string count = std::to_string(keys.size());
  words.push_back(count);
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::string out;
  append_command(out, words);
  return out;
}

const scripts& scripts::all() {
  // Never destroyed: a client that lives in a global outlives what is made after it.
  static const scripts& every = *new scripts{
      of({lua_head, lua_clock, lua_turns, lua_enter_mutex, lua_keys, lua_line, lua_prelude, lua_enter}),
      of({lua_head, lua_leave_alone, lua_clock, lua_turns, lua_hand_over, lua_keys, lua_line, lua_prelude, lua_leave}),
      with_prelude(lua_renew),
      of({lua_owns, lua_renew_mutexes}),
      with_prelude(lua_yield),
      with_prelude(lua_convert),
      with_prelude(lua_raise),
      with_prelude(lua_count),
      of({lua_exchange_cell}),
      of({lua_admit}),
      with_prelude(lua_describe),
      with_prelude(lua_evict)};
  return every;
}

const scripts& scripts::of_plain_layout() {
  static const scripts& every = *new scripts{plain(lua_plain_enter, lua_plain_enter_free),
                                             plain(lua_plain_leave, lua_plain_leave_alone),
                                             none(),
                                             of({lua_plain_owns, lua_renew_mutexes}),
                                             none(),
                                             none(),
                                             plain(lua_raise),
                                             none(),
                                             of({lua_exchange_cell}),
                                             of({lua_admit}),
                                             plain(lua_plain_describe),
                                             plain(lua_plain_evict)};
  return every;
}

}  // namespace holdfast::redis
