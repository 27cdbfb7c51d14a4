#include "cluster.hpp"

#include "redis_error.hpp"

#include <utility>

namespace holdfast::redis {

using namespace std::chrono_literals;

namespace {

constexpr unsigned most_redirections = 5;
constexpr auto between_readings = 100ms;

std::string encoded(const std::vector<std::string_view>& words) {
  std::string out;
  append_command(out, words);
  return out;
}

failure nobody_serves(slot s) {
  return {errc::unavailable, "redis: the cluster has nobody who serves slot " + std::to_string(s)};
}

/// Whoever waits for one node reads the answers of others, too, and calls them here. What they then ask of another node
/// must not be waited for: two such threads would wait for each other.
thread_local bool answering = false;

class answering_now {
 public:
  answering_now() = default;
  answering_now(const answering_now&) = delete;
  answering_now& operator=(const answering_now&) = delete;
  ~answering_now() { answering = before_; }

 private:
  const bool before_ = std::exchange(answering, true);
};

spi::caller allowed(spi::caller from) { return answering ? spi::caller::must_not_block : from; }

}  // namespace

cluster::cluster(settings where, spi::runtime& engine) : where_(std::move(where)), engine_(engine) {}

settings cluster::settings_of(const node_address& node) const {
  settings one = where_;
  one.host = node.host;
  one.port = node.port;
  return one;
}

std::vector<node_address> cluster::masters() const {
  const guard lock(mutex_);
  return slots_.masters();
}

std::optional<node_address> cluster::master(slot s) const {
  const guard lock(mutex_);
  const auto* found = slots_.master(s);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::shared_ptr<link> cluster::link_to(const node_address& node) {
  const guard lock(mutex_);
  auto& found = links_[node];
  if (!found) found = std::make_shared<link>(settings_of(node), engine_, link::when_down::fail);
  return found;
}

void cluster::run(errand one, spi::caller from) {
  const slot about = slot_of(one.keys.front());
  start({&one.what, std::move(one.keys), std::move(one.arguments), {}, std::move(one.told)}, about, from);
}

void cluster::ask(std::string_view key, const std::vector<std::string_view>& words, spi::caller from,
                  link::answer told) {
  start({nullptr, {}, {}, encoded(words), std::move(told)}, slot_of(key), from);
}

void cluster::ask_at(const node_address& node, const std::vector<std::string_view>& words, link::answer told) {
  go({nullptr, {}, {}, encoded(words), std::move(told)}, {node}, spi::caller::must_not_block);
}

void cluster::start(trip one, slot about, spi::caller from) {
  const auto node = master(about);
  if (!node) {
    read_map(nullptr);
    return one.told(nobody_serves(about));
  }
  go(std::move(one), {*node}, allowed(from));
}

void cluster::run(std::vector<errand> all, spi::caller from) {
  struct load {
    std::string commands;
    std::vector<link::answer> answers;
  };
  std::map<node_address, load> loads;
  for (errand& one : all) {
    const slot about = slot_of(one.keys.front());
    const auto node = master(about);
    if (!node) {
      read_map(nullptr);
      one.told(nobody_serves(about));
      continue;
    }
    load& its = loads[*node];
    its.commands += one.what.by_hash(one.keys, one.arguments);
    its.answers.push_back(
        on_answer({&one.what, std::move(one.keys), std::move(one.arguments), {}, std::move(one.told)}, {*node}));
  }
  // All nodes work at the same time: only the last is waited for.
  std::size_t left = loads.size();
  for (auto& [node, its] : loads)
    link_to(node)->send(std::move(its.commands), std::move(its.answers),
                        --left == 0 ? allowed(from) : spi::caller::must_not_block);
}

void cluster::go(trip one, stop at, spi::caller from) {
  std::string bytes;
  std::vector<link::answer> answers;
  if (at.asking) {
    append_command(bytes, {"ASKING"});
    answers.emplace_back([](const result<reply>&) {});
  }
  if (one.what == nullptr)
    bytes += one.command;
  else
    bytes += at.by_text ? one.what->by_text(one.keys, one.arguments) : one.what->by_hash(one.keys, one.arguments);
  const auto wire = link_to(at.node);
  answers.push_back(on_answer(std::move(one), std::move(at)));
  wire->send(std::move(bytes), std::move(answers), from);
}

link::answer cluster::on_answer(trip one, stop at) {
  return [weak = weak_from_this(), one = std::move(one), at = std::move(at)](result<reply> said) mutable {
    const auto self = weak.lock();
    if (!self) return one.told(failure{errc::unavailable, "the client is gone"});
    const answering_now here;
    self->arrive(std::move(one), std::move(at), std::move(said));
  };
}

void cluster::arrive(trip one, stop at, result<reply> said) {
  if (said && !said->is_error()) return one.told(std::move(said));
  if (said && one.what != nullptr && !at.by_text && said->text().starts_with("NOSCRIPT")) {
    at.by_text = true;
    return go(std::move(one), std::move(at), spi::caller::must_not_block);
  }
  if (said) {
    if (const auto there = redirection::from(said->text(), at.node)) return redirect(std::move(one), *there);
  }
  failure why = said ? failure_of(said->text()) : said.error();
  // Another look at the map may mend it.
  if (why.code == errc::unavailable) doubt(at.node);
  one.told(std::move(why));
}

void cluster::redirect(trip one, const redirection& there) {
  if (++one.redirections > most_redirections) {
    read_map(nullptr);
    return one.told(failure{errc::unavailable, "redis: slot " + std::to_string(there.about) +
                                                   " of the cluster was not found after " +
                                                   std::to_string(most_redirections) + " redirections, the last to " +
                                                   there.where.shown()});
  }
  const bool moved = there.what == redirection::kind::moved;
  if (moved) {
    {
      const guard lock(mutex_);
      slots_.move(there.about, there.where);
    }
    read_map(&there.where);
  }
  go(std::move(one), {there.where, !moved}, spi::caller::must_not_block);
}

void cluster::doubt(const node_address& node) {
  {
    const guard lock(mutex_);
    doubted_.insert(node);
  }
  read_map(nullptr);
}

/// Asks `first`, who knows more than others, or else whoever answers.
void cluster::read_map(const node_address* first) {
  std::vector<node_address> candidates;
  spi::time_point when;
  {
    const guard lock(mutex_);
    if (std::exchange(reading_, true)) return;
    // The last is asked first: those who were masters know more than those who were named once.
    std::vector<node_address> all = where_.seeds;
    all.insert(all.end(), slots_.masters().begin(), slots_.masters().end());
    for (const auto& node : all)
      if (doubted_.contains(node)) candidates.push_back(node);
    for (const auto& node : all)
      if (!doubted_.contains(node)) candidates.push_back(node);
    if (first != nullptr) candidates.push_back(*first);
    when = read_at_ + between_readings;
  }
  if (when <= engine_.now()) return ask_for_map(std::move(candidates));
  engine_.at(when, [weak = weak_from_this(), candidates = std::move(candidates)]() mutable {
    if (auto self = weak.lock()) self->ask_for_map(std::move(candidates));
  });
}

/// Asks the last of them, and the others should that one not answer.
void cluster::ask_for_map(std::vector<node_address> candidates) {
  if (candidates.empty()) return end_reading();
  const node_address node = std::move(candidates.back());
  candidates.pop_back();
  std::vector<link::answer> answers;
  answers.emplace_back([weak = weak_from_this(), node, rest = std::move(candidates)](result<reply> said) mutable {
    const auto self = weak.lock();
    if (!self) return;
    if (said && !said->is_error()) {
      auto fresh = slot_map::from(*said, node);
      // One that has just come back knows of nobody yet.
      if (fresh && !fresh->masters().empty()) {
        {
          const guard lock(self->mutex_);
          self->slots_ = std::move(*fresh);
          self->doubted_.erase(node);
        }
        return self->end_reading();
      }
    }
    {
      const guard lock(self->mutex_);
      self->doubted_.insert(node);
    }
    self->ask_for_map(std::move(rest));
  });
  link_to(node)->send(encoded({"CLUSTER", "SLOTS"}), std::move(answers), spi::caller::must_not_block);
}

void cluster::end_reading() {
  {
    const guard lock(mutex_);
    reading_ = false;
    read_at_ = engine_.now();
  }
  if (read_) read_();
}

}  // namespace holdfast::redis
