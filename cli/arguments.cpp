#include "arguments.hpp"

#include <holdfast/uri.hpp>

#include <algorithm>
#include <charconv>

namespace holdfast::cli {
namespace {

std::string list_flags(const syntax& known) {
  std::string text;
  for (const flag& f : known.flags) {
    if (!text.empty()) text += ", ";
    text += f.name;
    if (!f.value.empty()) text.append(" ").append(f.value);
  }
  return text;
}

bool may_be_left_out(std::string_view operand) { return operand.starts_with('['); }

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out + "'";
}

arguments::arguments(const syntax& known, std::span<char* const> words) {
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string_view word = words[at];
    if (word == "--") {
      add_command(known, words.subspan(at + 1));
      break;
    }
    // A lone dash is an operand, as everywhere.
    if (word.size() > 1 && word.front() == '-') {
      add_flag(known, words, at);
    } else {
      operands_.push_back(word);
    }
  }
  if (!has("--help")) check_operands(known);
}

void arguments::add_flag(const syntax& known, std::span<char* const> words, std::size_t& at) {
  const std::string_view word = words[at] == std::string_view("-h") ? "--help" : words[at];
  const std::size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const auto found = std::ranges::find(known.flags, name, &flag::name);
  if (found == known.flags.end()) {
    throw usage_error("unknown option " + quoted(name) + "; " + std::string(known.command) + " takes " +
                      list_flags(known));
  }
  if (has(found->name)) throw usage_error(std::string(found->name) + " is given twice");

  if (found->value.empty()) {
    if (equals != std::string_view::npos) throw usage_error(std::string(name) + " takes no value");
    flags_.push_back({found->name, {}});
    return;
  }
  if (equals != std::string_view::npos) {
    flags_.push_back({found->name, word.substr(equals + 1)});
    return;
  }
  // The next word is the value whatever it looks like, so that `--wait -1s` is told what is wrong with -1s.
  if (at + 1 == words.size() || words[at + 1] == std::string_view("--")) {
    throw usage_error(std::string(name) + " needs a value: " + std::string(name) + " " + std::string(found->value));
  }
  flags_.push_back({found->name, words[++at]});
}

void arguments::add_command(const syntax& known, std::span<char* const> rest) {
  if (known.takes_command) {
    command_ = rest;
    if (rest.empty())
      throw usage_error("no command behind '--': " + std::string(known.command) + " NAME -- CMD [ARG...]");
    return;
  }
  // Elsewhere `--` only says that operands follow, so that a lock may be named `--json`.
  for (const char* word : rest) operands_.push_back(word);
}

void arguments::check_operands(const syntax& known) const {
  if (operands_.size() > known.operands.size()) {
    const std::string extra = quoted(operands_[known.operands.size()]);
    if (known.takes_command && command_.empty()) {
      throw usage_error("'--' is missing before the command: " + std::string(known.command) + " NAME -- " +
                        extra.substr(1, extra.size() - 2));
    }
    throw usage_error(extra + " is one word too many");
  }
  if (operands_.size() < known.operands.size() && !may_be_left_out(known.operands[operands_.size()])) {
    throw usage_error(std::string(known.operands[operands_.size()]) + " is missing");
  }
  if (known.takes_command && command_.empty()) {
    throw usage_error("'--' and a command are missing: " + std::string(known.command) + " NAME -- CMD [ARG...]");
  }
}

bool arguments::has(std::string_view flag) const {
  return std::ranges::find(flags_, flag, &given::flag) != flags_.end();
}

std::optional<std::string_view> arguments::value(std::string_view flag) const {
  const auto found = std::ranges::find(flags_, flag, &given::flag);
  if (found == flags_.end()) return std::nullopt;
  return found->value;
}

std::optional<std::string_view> arguments::operand(std::size_t n) const {
  if (n >= operands_.size()) return std::nullopt;
  return operands_[n];
}

std::optional<std::chrono::nanoseconds> arguments::duration(std::string_view flag) const {
  const auto text = value(flag);
  if (!text) return std::nullopt;
  auto parsed = parse_duration(*text);
  if (!parsed || *parsed < std::chrono::nanoseconds::zero()) {
    throw usage_error(std::string(flag) + " " + quoted(*text) + " is not a duration; write 250ms, 10s, 5m or 2h");
  }
  return *parsed;
}

std::optional<std::uint32_t> arguments::count(std::string_view flag) const {
  const auto text = value(flag);
  if (!text) return std::nullopt;
  std::uint32_t number = 0;
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (problem != std::errc() || end != text->data() + text->size() || number == 0) {
    throw usage_error(std::string(flag) + " " + quoted(*text) + " is not a number from 1 to 4294967295");
  }
  return number;
}

}  // namespace holdfast::cli
