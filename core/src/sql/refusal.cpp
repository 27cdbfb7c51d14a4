#include "refusal.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace holdfast::sql::detail {

namespace {

struct meaning {
  std::string_view native;  ///< Or the first two letters of a SQLSTATE, which stand for its class.
  errc code;
  std::string_view text;
};

constexpr std::array postgresql{
    meaning{"40P01", errc::deadlock, "the server ended it as the victim of a deadlock"},
    meaning{"40001", errc::unavailable, "the server could not put it in order with others"},
    meaning{"55P03", errc::timed_out, "somebody else keeps the row locked"},
    meaning{"57014", errc::cancelled, "it was cancelled, or took longer than statement_timeout"},
    meaning{"25006", errc::unavailable, "the server or the transaction is read-only"},
    meaning{"57P", errc::unavailable, "the server ended the connection, or is starting or stopping"},
    meaning{"08", errc::unavailable, "the connection failed"},
    meaning{"53300", errc::unavailable, "the server has no room for another connection"},
};

constexpr std::array mysql{
    meaning{"1213", errc::deadlock, "the server ended the transaction as the victim of a deadlock"},
    meaning{"3058", errc::deadlock, "the server ended it as the victim of a deadlock of user locks"},
    meaning{"1020", errc::unavailable, "the server could not put it in order with others"},
    meaning{"1205", errc::timed_out, "somebody else keeps the row locked"},
    meaning{"3572", errc::timed_out, "somebody else keeps the row locked"},
    meaning{"1969", errc::timed_out, "it took longer than max_statement_time"},
    meaning{"3024", errc::timed_out, "it took longer than max_execution_time"},
    meaning{"1317", errc::cancelled, "it was interrupted"},
    meaning{"1290", errc::unavailable, "the server is read-only, or runs with an option that forbids it"},
    meaning{"1792", errc::unavailable, "the transaction is read-only"},
    meaning{"1836", errc::unavailable, "the server is read-only"},
    meaning{"1927", errc::unavailable, "the connection was killed"},
    meaning{"1053", errc::unavailable, "the server is stopping"},
    meaning{"1040", errc::unavailable, "the server has no room for another connection"},
    meaning{"4031", errc::unavailable, "the connection was idle for too long"},
    meaning{"2006", errc::unavailable, "the server has gone away"},
    meaning{"2013", errc::unavailable, "the connection was lost"},
    meaning{"2055", errc::unavailable, "the connection was lost"},
};

std::span<const meaning> meanings_of(flavour from) {
  if (from == flavour::postgresql) return postgresql;
  return mysql;
}

bool matches(const meaning& m, flavour from, std::string_view code) {
  if (code == m.native) return true;
  return from == flavour::postgresql && m.native.size() < 5 && code.starts_with(m.native);
}

template <std::size_t N>
bool among(const std::array<std::string_view, N>& some, std::string_view code) {
  return std::find(some.begin(), some.end(), code) != some.end();
}

std::string one_line(std::string_view words) {
  while (words.ends_with('\n')) words.remove_suffix(1);
  std::string text(words);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

failure failure_of(flavour from, const refusal& why) {
  const std::string said = one_line(why.words);
  if (why.code.empty()) return {errc::unavailable, "the connection failed: " + said};
  const std::string shown = said + (from == flavour::postgresql ? " (SQLSTATE " : " (") + why.code + ")";
  for (const meaning& m : meanings_of(from))
    if (matches(m, from, why.code)) return {m.code, std::string(m.text) + ": " + shown};
  return {errc::rejected, "the server refused it: " + shown};
}

bool retryable(flavour from, std::string_view code) noexcept {
  if (from == flavour::postgresql) return among(std::array<std::string_view, 2>{"40P01", "40001"}, code);
  return among(std::array<std::string_view, 3>{"1213", "3058", "1020"}, code);
}

bool waited_in_vain(flavour from, std::string_view code) noexcept {
  if (from == flavour::postgresql) return code == "55P03";
  return among(std::array<std::string_view, 4>{"1205", "3572", "1969", "3024"}, code);
}

bool lacks_tables(flavour from, std::string_view code) noexcept {
  if (from == flavour::postgresql) return among(std::array<std::string_view, 2>{"42P01", "3F000"}, code);
  return code == "1146";
}

}  // namespace holdfast::sql::detail
