#include "dialect.hpp"

#include "fragments.hpp"

#include <stdexcept>

namespace holdfast::sql {

namespace {

/// Where the brace that was opened before `from` closes; inside there may be others.
std::size_t closing(std::string_view text, std::size_t from) {
  int open = 1;
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '{') ++open;
    if (text[i] == '}' && --open == 0) return i;
  }
  throw std::logic_error("a brace is not closed: " + std::string(text.substr(from, 40)));
}

std::string render_word(std::string_view inside, const dialect& in) {
  const auto space = inside.find(' ');
  const auto word = inside.substr(0, space);
  const auto rest = space == inside.npos ? std::string_view() : inside.substr(space + 1);
  if (word == "t") return in.table(rest);
  if (word == "use") return render(fragment(rest), in);
  return in.replace(word, render(rest, in));
}

}  // namespace

std::string render(std::string_view text, const dialect& in) {
  std::string out;
  for (std::size_t at = 0;;) {
    const auto brace = text.find('{', at);
    out += text.substr(at, brace == text.npos ? text.npos : brace - at);
    if (brace == text.npos) return out;
    const auto end = closing(text, brace + 1);
    out += render_word(text.substr(brace + 1, end - brace - 1), in);
    at = end + 1;
  }
}

}  // namespace holdfast::sql
