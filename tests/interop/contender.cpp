#include "contender.hpp"

#include <stdexcept>

namespace holdfast::testing {

contender::contender(holder_process ours, spelling how) : who_(std::move(ours)), how_(std::move(how)) {}
contender::contender(std::shared_ptr<foreign_peer> theirs, std::string name, spelling how)
    : who_(thread{std::move(theirs), std::move(name)}), how_(std::move(how)) {}

void contender::tell(std::string_view command) {
  if (auto* ours = std::get_if<holder_process>(&who_)) return ours->tell(command);
  const auto& theirs = std::get<thread>(who_);
  theirs.peer->tell(theirs.name, command);
}

std::optional<std::string> contender::reply_within(std::chrono::nanoseconds limit) {
  if (auto* ours = std::get_if<holder_process>(&who_)) return ours->reply_within(limit);
  const auto& theirs = std::get<thread>(who_);
  return theirs.peer->reply_within(theirs.name, limit);
}

std::string contender::reply(std::chrono::nanoseconds limit) {
  if (auto line = reply_within(limit)) return *line;
  throw std::runtime_error("no reply in time to: " + how_.acquire);
}

std::string contender::ask(std::string_view command) {
  tell(command);
  return reply();
}

std::string contender::granted(const std::string& reply) {
  if (!reply.starts_with("granted")) throw std::runtime_error("was not granted it: " + reply);
  return reply.size() > 8 ? reply.substr(8) : "";
}

std::string contender::acquire() {
  want();
  return got();
}

void contender::end_release() {
  if (const std::string said = reply(); said != "ok") throw std::runtime_error(how_.release + ": " + said);
}

void contender::release() {
  begin_release();
  end_release();
}

void contender::kill() {
  if (auto* ours = std::get_if<holder_process>(&who_)) return ours->kill();
  std::get<thread>(who_).peer->kill();
}

}  // namespace holdfast::testing
