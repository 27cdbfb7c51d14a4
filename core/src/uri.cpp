#include <holdfast/uri.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace holdfast {

namespace {

failure malformed(std::string what) { return {errc::invalid_argument, "URL: " + std::move(what)}; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// `part` names what is decoded, for the error: the text itself may be a password.
result<std::string> decode(std::string_view text, const char* part) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) < 0x20 || text[i] == 0x7f)
      return malformed(std::string(part) + " contains a control character");
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return malformed(std::string("'%' in the ") + part + " is not followed by two hex digits");
    if (high == 0 && low == 0) return malformed(std::string("%00 in the ") + part + " is not allowed");
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

bool is_scheme(std::string_view text) {
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text[0])) == 0) return false;
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.'; });
}

result<uri::endpoint> parse_endpoint(std::string_view text) {
  uri::endpoint where;
  std::string_view rest;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == text.npos) return malformed("an IPv6 address lacks its closing ']'");
    where.host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
    if (!rest.empty() && rest[0] != ':') return malformed("after ']' only ':port' may follow");
  } else {
    const auto colon = text.find(':');
    auto host = decode(text.substr(0, colon), "host");
    if (!host) return host.error();
    where.host = std::move(*host);
    rest = colon == text.npos ? std::string_view() : text.substr(colon);
  }
  if (where.host.empty()) return malformed("a host name is empty");
  if (rest.empty()) return where;
  rest.remove_prefix(1);
  unsigned port = 0;
  const auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), port);
  if (failed != std::errc() || end != rest.data() + rest.size() || port == 0 || port > 65535)
    // Not quoted: in user:pass/word@host, where the slash should be %2F, this is the password.
    return malformed("the port of host '" + where.host + "' is not a number from 1 to 65535");
  where.port = static_cast<std::uint16_t>(port);
  return where;
}

result<void> parse_authority(std::string_view text, uri& out) {
  const auto at = text.rfind('@');
  if (at != text.npos) {
    const auto who = text.substr(0, at);
    const auto colon = who.find(':');
    auto user = decode(who.substr(0, colon), "user");
    if (!user) return user.error();
    out.user = std::move(*user);
    if (colon != who.npos) {
      auto password = decode(who.substr(colon + 1), "password");
      if (!password) return password.error();
      out.password = std::move(*password);
    }
    text.remove_prefix(at + 1);
    if (text.empty()) return malformed("there is no host after '@'");
  }
  while (!text.empty()) {
    const auto comma = text.find(',');
    auto where = parse_endpoint(text.substr(0, comma));
    if (!where) return where.error();
    out.hosts.push_back(std::move(*where));
    if (comma == text.npos) return {};
    text.remove_prefix(comma + 1);
    if (text.empty()) return malformed("the host list ends in a comma");
  }
  return {};
}

result<void> parse_options(std::string_view text, uri& out) {
  while (!text.empty()) {
    const auto amp = text.find('&');
    const auto item = text.substr(0, amp);
    const auto equals = item.find('=');
    auto key = decode(item.substr(0, equals), "option name");
    if (!key) return key.error();
    if (key->empty()) return malformed("an option has no name");
    // In user:pass?word@host, where the question mark should be %3F, this is the password.
    if (key->find('@') != key->npos) return malformed("an option's name contains '@'; '?' in a password is %3F");
    if (equals == item.npos) return malformed("option '" + *key + "' has no value; write " + *key + "=VALUE");
    auto value = decode(item.substr(equals + 1), "option value");
    if (!value) return value.error();
    if (!out.options.emplace(*key, std::move(*value)).second) return malformed("option '" + *key + "' is given twice");
    if (amp == text.npos) break;
    text.remove_prefix(amp + 1);
  }
  return {};
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool is_secret(std::string_view option) {
  const auto name = lower(option);
  return name.find("pass") != name.npos || name.find("secret") != name.npos;
}

}  // namespace

result<uri> uri::parse(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == text.npos || !is_scheme(text.substr(0, colon)))
    return malformed("it does not start with a scheme; write for example sqlite:///path/locks.db or memory:");
  uri out;
  out.scheme = lower(text.substr(0, colon));
  auto rest = text.substr(colon + 1);
  if (rest.find('#') != rest.npos) return malformed("'#' is not allowed; write %23");

  const auto question = rest.find('?');
  const auto options = question == rest.npos ? std::string_view() : rest.substr(question + 1);
  rest = rest.substr(0, question);
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    const auto slash = rest.find('/');
    if (auto who = parse_authority(rest.substr(0, slash), out); !who) return who.error();
    rest = slash == rest.npos ? std::string_view() : rest.substr(slash);
    // In user:12/34@host, where the slash should be %2F, this is the rest of the password.
    if (!out.hosts.empty() && rest.find('@') != rest.npos)
      return malformed("there is an '@' after the first '/'; '/' in a password is %2F, '@' in a path is %40");
  }
  auto path = decode(rest, "path");
  if (!path) return path.error();
  out.path = std::move(*path);
  // Last: of a password with '?' in it the part before fails as a port, and nothing of the rest is quoted.
  if (auto good = parse_options(options, out); !good) return good.error();
  return out;
}

std::string uri::redacted() const {
  std::string text = scheme + ":";
  if (!hosts.empty() || path.starts_with('/')) text += "//";
  if (!user.empty() || !password.empty()) text += user + (password.empty() ? "@" : ":***@");
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const bool v6 = hosts[i].host.find(':') != std::string::npos;
    text += (i == 0 ? "" : ",") + (v6 ? "[" + hosts[i].host + "]" : hosts[i].host);
    if (hosts[i].port) text += ":" + std::to_string(*hosts[i].port);
  }
  text += path;
  char separator = '?';
  for (const auto& [key, value] : options) {
    text += separator + key + "=" + (is_secret(key) ? "***" : value);
    separator = '&';
  }
  return text;
}

std::optional<std::string> uri::take(std::string_view option) {
  const auto found = options.find(option);
  if (found == options.end()) return std::nullopt;
  auto value = std::move(found->second);
  options.erase(found);
  return value;
}

result<void> uri::expect_no_more_options(std::string_view known) const {
  if (options.empty()) return {};
  std::string names;
  for (const auto& [key, value] : options) names += (names.empty() ? "'" : ", '") + key + "'";
  return malformed("unknown option " + names + "; " + scheme + ": knows " +
                   (known.empty() ? "none" : std::string(known)));
}

result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  const failure wrong{errc::invalid_argument,
                      "duration '" + std::string(text) + "' is not a number with a unit: 250ms, 10s, 5m or 2h"};
  double count = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), count, std::chars_format::fixed);
  if (failed != std::errc() || count != count) return wrong;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  double factor = 0;
  if (unit == "ms") factor = 1e6;
  if (unit == "s") factor = 1e9;
  if (unit == "m") factor = 60e9;
  if (unit == "h") factor = 3600e9;
  if (factor == 0) return wrong;
  const double nanoseconds = count * factor;
  if (nanoseconds > 9.2e18 || nanoseconds < -9.2e18) return wrong;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(nanoseconds));
}

}  // namespace holdfast
