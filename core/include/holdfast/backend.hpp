#pragma once

#include <holdfast/detail/function.hpp>
#include <holdfast/export.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/lease_clock.hpp>
#include <holdfast/options.hpp>
#include <holdfast/result.hpp>
#include <holdfast/token.hpp>
#include <holdfast/uri.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// What a store must do to carry every primitive. The engine adds waiting, deadlines, cancellation, renewal, loss,
/// re-entry, local queues and the faces. See CONTRIBUTING.md for how to add one.
namespace holdfast::spi {

using time_point = lease_clock::time_point;

/// Called exactly once with the outcome, on any thread, also before the call that was given it returns.
template <class T>
using completion = detail::unique_function<void(result<T>)>;

/// What a name is used for. Two kinds on one name at the same time are refused (errc::rejected).
enum class kind : std::uint8_t { mutex = 1, shared_mutex, permits, semaphore, latch };
HOLDFAST_EXPORT const char* to_string(kind k) noexcept;  ///< As entry::kind.

enum class access : std::uint8_t { exclusive = 1, shared };

/// 128 random bits that name one acquisition, from its first request to its release. It is the owner in the store, the
/// ticket in its queue and what makes a request that is sent again the same request.
struct HOLDFAST_EXPORT owner_id {
  std::array<std::uint8_t, 16> bytes{};

  static owner_id random();  ///< From the operating system's generator.
  std::string hex() const;   ///< 32 lower-case digits.
  friend auto operator<=>(const owner_id&, const owner_id&) = default;
};

/// May the backend use the calling thread for its I/O?
enum class caller : std::uint8_t {
  must_not_block,  ///< No: return at once, complete later (runtime::post is the place for blocking store calls).
  may_block,       ///< Yes, for one exchange with the store.
  waits,           ///< Yes, until the claim is granted, with no deadline and no cancellation. Backends that cannot use
                   ///< this treat it as may_block.
};

/// What somebody wants, or has, of a name: the request, the ticket and the grant, told apart by what the store knows.
struct claim {
  std::string name;
  spi::kind kind = kind::mutex;
  spi::access access = access::exclusive;
  ordering order = ordering::any;
  owner_id id;
  std::uint32_t permits = 1;        ///< permits and semaphore: how many at once.
  std::uint32_t limit = 1;          ///< permits: how many there are.
  std::chrono::nanoseconds ttl{0};  ///< How long a grant lasts without renewal. Unused by semaphore and latch.
};

struct entry_request {
  spi::claim claim;
  bool queue = false;        ///< Stay in line if busy. Without it `busy` leaves nothing behind.
  std::uint32_t tokens = 1;  ///< How many consecutive fencing tokens to draw, for handing over in this process.
  spi::caller caller = caller::must_not_block;
};

/// The claim is ours until `expires`, which is no later than the store's own idea: count it from just before the
/// request was sent. (semaphore: permits taken; latch: it is open; both without token and expiry.)
struct granted {
  fencing_token first_token;
  std::uint32_t tokens = 1;  ///< first_token, first_token + 1, ... are ours.
  time_point expires;
  /// Of a store whose grants end with a session: when that may end, kept up by the backend as it hears of it. A ttl
  /// that is not renewed may be longer than the session's time; the lease is valid as long as both. Null: `expires` is
  /// all.
  std::shared_ptr<const std::atomic<time_point::duration>> session_ends = nullptr;
};

/// Somebody else has it. With entry_request::queue the claim is in line, by its id.
struct busy {
  /// Enter again at this time even if nothing was heard: when the holder's ttl ends, or how long a lost wake-up may
  /// go unnoticed. The engine adds nothing.
  time_point look_again;
};

using entry_result = std::variant<granted, busy>;

/// Why a watch ended: there may be something new (enter again), or the store has granted the claim already.
struct look_again {};
using wake = std::variant<look_again, granted>;

enum class renewal : std::uint8_t {
  renewed,
  lost,     ///< The store does not know the claim any more.
  unknown,  ///< No answer. Neither extends nor ends the lease.
};
struct renewal_outcome {
  renewal what = renewal::unknown;
  time_point expires;  ///< renewed: the new end, counted from just before sending.
};

/// One atomic step on the number behind a semaphore or latch.
struct count_request {
  enum class op : std::uint8_t {
    get,
    set_if_unset,  ///< semaphore: if never set; latch: if zero. done tells.
    add,           ///< semaphore only; may be negative.
    subtract,      ///< latch only: not below zero.
    drain,         ///< semaphore only: take all; value is what there was.
  };
  std::string name;
  spi::kind kind = kind::semaphore;
  op what = op::get;
  std::int64_t amount = 0;
  owner_id id;  ///< A request sent again is not applied again.
};
struct count_reply {
  bool done = true;
  std::int64_t value = 0;  ///< After the step (drain: before it).
};

/// The thread of a caller that blocks, lent to the backend until its call is answered.
struct loan {
  std::atomic<bool> over = false;
  std::counting_semaphore<> bell{0};  ///< It is over, or there is something to do for the thread.
};

/// A value with a version (cell), or a number that only grows (fence).
struct cell_value {
  std::string value;
  std::uint64_t version = 0;
};

/// What a store can do. What it cannot is refused when the primitive is constructed.
struct capabilities {
  bool mutex = false;  ///< mutex and recursive_mutex; with it multi_mutex and striped_mutex.
  bool shared_mutex = false;
  bool permits = false;
  bool semaphore = false;
  bool latch = false;
  bool cell = false;
  bool fence = false;
  bool fifo = false;         ///< ordering::fifo.
  bool raise_token = false;  ///< raise(); needed by quorum_mutex.
};

/// Who we are, as inspect shows it.
struct identity {
  std::string host;
  std::int64_t pid = 0;
  std::string client_name;
};

/// What the engine does for a backend. Outlives it. Thread safety: safe.
class HOLDFAST_EXPORT runtime {
 public:
  using timer = std::uint64_t;

  virtual ~runtime() = default;
  virtual time_point now() const noexcept = 0;
  virtual const spi::identity& who() const noexcept = 0;
  virtual const client_options& options() const noexcept = 0;
  virtual void log(log_level level, std::string_view line) noexcept = 0;

  /// Runs `task` on a thread meant for store calls that block.
  virtual void post(detail::unique_function<void()> task) = 0;
  /// Runs `task` at `when` on the reactor thread. It must not block.
  virtual timer at(time_point when, detail::unique_function<void()> task) = 0;
  virtual void cancel(timer t) noexcept = 0;  ///< No effect if it ran or runs.
  /// Calls `ready` on the reactor thread whenever `fd` is readable, until forget(fd). It must not block.
  virtual void on_readable(int fd, std::function<void()> ready) = 0;
  /// No call of `ready` starts after this returns; it waits for one that runs, unless called from it.
  virtual void forget(int fd) noexcept = 0;

  /// A grant of ours is gone (evicted, session ended): the lease is told at once. Unknown ids are ignored.
  virtual void lost(const owner_id& id, loss cause) noexcept = 0;
  /// Somebody asks that a grant of ours be released: the client is told. Unknown ids are ignored.
  virtual void asked_for(const owner_id& /*id*/) noexcept {}
};

/// A store.
///
/// Thread safety: all members may be called concurrently. Every call that takes a completion returns at once, or, where
/// its caller says so, after one exchange with the store, and completes exactly once, within
/// client_options::request_timeout. A completion, and runtime::lost, may call the backend again before it returns
/// (leave, the next one's enter): hold no lock around them. (errc::unavailable when the store did not answer: the
/// outcome is then unknown, and the engine sends the same request again or leaves). errc::unavailable is tried again;
/// every other failure ends the call.
class HOLDFAST_EXPORT backend {
 public:
  virtual ~backend() = default;  ///< No call is under way. The runtime's threads have ended: what
                                 ///< closes the session does it here and now. What is still held is left to its end.

  virtual capabilities supports() const noexcept = 0;
  /// One word for one store, the same in every process that reaches it: multi_mutex sorts by it.
  virtual std::string identity() const = 0;

  /// One atomic step: grants, or joins the queue, or finds the grant or ticket this very id already has.
  virtual void enter(const entry_request& request, completion<entry_result> done) = 0;
  /// Completes when a queued claim should look again or was granted; whenever in doubt (reconnect), and when it leaves.
  /// What happened between enter and watch is not missed: a claim that is not in line (any more) completes at once. One
  /// watch per claim at a time.
  virtual void watch(const claim& queued, completion<wake> done) = 0;
  /// A caller blocks while its claim is watched. A backend that hears its store on a connection may read there with
  /// this thread, so that it is woken by the store itself. Returns when the loan is over, or false at once: no use for
  /// it.
  virtual bool lend(loan& mine);
  /// Ends a loan, on any thread.
  virtual void end(loan& mine) noexcept;
  /// Ends a grant or leaves the queue, whichever there is; wakes who is next. Idempotent. False: there was neither.
  virtual void leave(const claim& ours, caller from, completion<bool> done) = 0;
  /// One outcome per claim, in order, found by id whatever the claim says of its access. Called on threads that may
  /// block for the exchange.
  virtual void renew(const std::vector<claim>& held, completion<std::vector<renewal_outcome>> done) = 0;
  /// shared_mutex: changes a grant's access in place. False: not possible now, unchanged. errc::lost: not ours.
  virtual void convert(const claim& held, access to, caller from, completion<bool> done);
  /// Makes every later token of this name greater than `floor`. Requires: held. errc::lost: not ours.
  virtual void raise(const claim& held, fencing_token floor, caller from, completion<bool> done);

  virtual void count(const count_request& request, caller from, completion<count_reply> done);

  virtual void load_cell(const std::string& name, caller from, completion<cell_value> done);
  /// True: version was `expected` and is now greater. `id` makes it safe to send again.
  virtual void exchange_cell(const std::string& name, std::uint64_t expected, std::string value, owner_id id,
                             caller from, completion<bool> done);
  /// Raises the fence to `token` if that is not older; the newest after the step. Token 0 only asks.
  virtual void admit(const std::string& name, fencing_token token, caller from, completion<fencing_token> done);

  virtual void inspect(const std::string& prefix, completion<std::vector<entry>> done) = 0;
  virtual void evict(const std::string& name, completion<bool> done) = 0;
  /// Calls `changed` after every change to a name with this prefix may have happened, until the returned function is
  /// called. The engine compares inspect() before and after.
  virtual std::function<void()> observe(const std::string& prefix, std::function<void()> changed) = 0;

  /// Asks the store about its set-up: what `holdfast doctor` says. Changes nothing that lasts. Empty: it is not asked.
  virtual void examine(completion<std::vector<finding>> done);
};

/// Makes a backend; blocks at most options.connect_timeout. The URL's scheme is one it was registered for.
using factory = result<std::unique_ptr<backend>> (*)(uri where, runtime& engine);

/// One scheme a backend library brings.
struct registration {
  std::string scheme;
  factory make = nullptr;  ///< Null in all_backends(): the library is not there.
  capabilities supports;   ///< What the store can do with default options.
  std::string note;        ///< One line for `holdfast stores`: reach and limits.
};

/// Marks a thread that a client library brought as one of ours. Completions come on the calling thread, on the
/// runtime's threads, or on threads marked so: the last owner of a client may go inside one, and must not be destroyed
/// there.
HOLDFAST_EXPORT void adopt_this_thread();

/// Makes a scheme known to connect(). Each backend library calls it when it is loaded.
HOLDFAST_EXPORT void register_backend(registration scheme);
/// Every scheme Holdfast knows, those whose library is missing included. Loads the libraries.
HOLDFAST_EXPORT std::vector<registration> all_backends();

}  // namespace holdfast::spi
