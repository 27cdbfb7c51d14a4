#pragma once

#include "office.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

namespace holdfast::etcd {

/// Locks that are a line of keys, each with its place by its create revision: mutex, as Go's concurrency.Mutex, and
/// shared_mutex, as the recipe RWMutex.
///
/// A writer of ours has two keys of the same revision, a writer's and a reader's: deleting the first is its downgrade,
/// and everybody who came later still sees what they must see, foreign ones too.
///
/// Thread safety: safe.
class line_desk {
 public:
  explicit line_desk(office& of) : office_(of) {}

  void enter(const job& j);
  void leave(const ledger::page& t, spi::caller from, spi::completion<bool> done);
  void convert(const ledger::page& t, spi::access to, spi::caller from, spi::completion<bool> done);
  void raise(const ledger::page& t, fencing_token floor, spi::caller from, spi::completion<bool> done);

  /// Conditions that hold while `t` is what it was.
  static void require(script& s, const ticket& t);

 private:
  using reply = etcdserverpb::TxnResponse;
  using listing = google::protobuf::RepeatedPtrField<mvccpb::KeyValue>;
  enum class verdict : std::uint8_t { ours, behind, other_kind, unclear };
  struct judgement {
    verdict what = verdict::ours;
    std::string awaited;
    keys::form form = keys::form::mutex;
  };

  void begin(const job& j);
  void fail(const job& j, const failure& why);
  void name_keys(const job& j);
  void create(const job& j);
  void on_created(const job& j, const reply& said);
  void on_not_created(const job& j, const reply& said);
  void confirm(const job& j);
  void look_at_awaited(const job& j, const std::string& awaited);
  void on_place_gone(const job& j);
  void survey(const job& j);
  void survey_before_trying(const job& j);
  void act(const job& j, const judgement& found);
  void withdraw(const job& j, std::function<void()> then);
  void draw(const job& j);
  void draw_from_floor(const job& j, std::uint32_t wanted);
  void send_away(const departure& d, spi::caller from);
  void on_left(const departure& d, const reply& said);
  void downgrade(const ledger::page& t, spi::caller from, spi::completion<bool> done);
  void upgrade(const ledger::page& t, spi::caller from, spi::completion<bool> done);
  void upgrade_alone(const ledger::page& t, std::int64_t seen_at, spi::caller from, spi::completion<bool> done);

  void list_those_ahead(script& s, const ticket& t, std::int64_t up_to) const;
  judgement judge(const job& j, const reply& said, int first) const;
  judgement judge_all(const ticket& t, const listing& all) const;
  judgement judge_one(const ticket& t, const mvccpb::KeyValue& ahead) const;
  void note_floor(const job& j, const etcdserverpb::RangeResponse& said) const;
  std::uint64_t stamp();
  std::uint64_t number_for(const std::string& name);
  void spare_number(const ticket& t);

  office& office_;
  std::atomic<std::uint64_t> last_stamp_{0};
  std::mutex mutex_;
  std::map<std::string, std::vector<std::uint64_t>> spare_;  // numbers of keys that are gone, by name
  std::size_t spared_ = 0;
};

}  // namespace holdfast::etcd
