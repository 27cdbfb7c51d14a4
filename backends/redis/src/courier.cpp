#include "courier.hpp"

#include "redis_error.hpp"
#include "reply.hpp"

#include <utility>

namespace holdfast::redis {

namespace {

link::answer without_errors(link::answer told) {
  return [told = std::move(told)](result<reply> said) mutable {
    if (said && said->is_error()) return told(failure_of(said->text()));
    told(std::move(said));
  };
}

std::vector<link::answer> only(link::answer one) {
  std::vector<link::answer> all;
  all.push_back(std::move(one));
  return all;
}

/// A server that was restarted or flushed its scripts gets this one once more, with its text.
link::answer with_text_if_unknown(std::weak_ptr<link> wire, errand one) {
  return [wire = std::move(wire), one = std::move(one)](result<reply> said) mutable {
    if (!said || !said->is_error() || !said->text().starts_with("NOSCRIPT"))
      return without_errors(std::move(one.told))(std::move(said));
    const auto alive = wire.lock();
    if (!alive) return one.told(failure{errc::unavailable, "the client is gone"});
    alive->send(one.what.by_text(one.keys, one.arguments), only(without_errors(std::move(one.told))),
                spi::caller::must_not_block);
  };
}

}  // namespace

courier::courier(const settings& where, spi::runtime& engine, link::on_introduced introduced)
    : link_(where.seeds.empty() ? std::make_shared<link>(where, engine, link::when_down::wait, std::move(introduced))
                                : nullptr),
      cluster_(where.seeds.empty() ? nullptr : std::make_shared<cluster>(where, engine)) {}

result<void> courier::open() { return cluster_ ? cluster_->open() : link_->open(); }

void courier::leave_for(const std::string& server) { link_->leave_for(server); }

void courier::run(errand one, spi::caller from) {
  if (cluster_) return cluster_->run(std::move(one), from);
  auto command = one.what.by_hash(one.keys, one.arguments);
  link_->send(std::move(command), only(with_text_if_unknown(link_, std::move(one))), from);
}

void courier::run(std::vector<errand> all, spi::caller from) {
  if (cluster_) return cluster_->run(std::move(all), from);
  std::string commands;
  std::vector<link::answer> answers;
  answers.reserve(all.size());
  for (errand& one : all) {
    commands += one.what.by_hash(one.keys, one.arguments);
    answers.push_back(with_text_if_unknown(link_, std::move(one)));
  }
  link_->send(std::move(commands), std::move(answers), from);
}

void courier::ask(std::string_view key, const std::vector<std::string_view>& words, spi::caller from,
                  link::answer told) {
  if (cluster_) return cluster_->ask(key, words, from, std::move(told));
  std::string command;
  append_command(command, words);
  link_->send(std::move(command), only(without_errors(std::move(told))), from);
}

void courier::ask_in_turn(std::string_view /*key*/, const std::vector<std::vector<std::string_view>>& commands,
                          std::vector<link::answer> answers) {
  std::string bytes;
  for (const auto& words : commands) append_command(bytes, words);
  for (auto& told : answers) told = without_errors(std::move(told));
  link_->send(std::move(bytes), std::move(answers), spi::caller::must_not_block);
}

std::vector<node_address> courier::servers() const {
  return cluster_ ? cluster_->masters() : std::vector<node_address>(1);
}

void courier::ask_at(const node_address& server, const std::vector<std::string_view>& words, link::answer told) {
  if (cluster_) return cluster_->ask_at(server, words, std::move(told));
  ask({}, words, spi::caller::must_not_block, std::move(told));
}

}  // namespace holdfast::redis
