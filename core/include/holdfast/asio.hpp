#pragma once

/// Holdfast's waits as Asio asynchronous operations. Needs standalone Asio (1.22 or newer); nothing else of Holdfast
/// does.
///
/// ```cpp
/// auto lease = co_await holdfast::async_acquire(m, {.wait = 3s}, asio::use_awaitable);
/// ```

#include <holdfast/counting_semaphore.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/operation.hpp>
#include <holdfast/options.hpp>
#include <holdfast/permit_semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <asio.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace holdfast {

/// What has `async_acquire(acquire_options, std::stop_token)`: every lock with a lease face, counting_semaphore.
template <class Lock>
concept async_acquirable =
    requires(Lock& lock, acquire_options options, std::stop_token stop) { lock.async_acquire(options, stop); };

namespace detail {

template <class T>
struct asio_signature {
  using type = void(std::exception_ptr, T);
};
template <>
struct asio_signature<void> {
  using type = void(std::exception_ptr);
};

/// Brings one outcome to a handler, on the handler's executor.
template <class T, class Handler>
class asio_delivery {
 public:
  explicit asio_delivery(Handler handler)
      : handler_(std::move(handler)),
        // Tracked: an io_context must not run out of work while the store is being waited for.
        executor_(asio::prefer(asio::get_associated_executor(handler_), asio::execution::outstanding_work.tracked)) {}

  /// The token that Asio's own cancellation of this operation stops.
  std::stop_token cancellation() {
    auto slot = asio::get_associated_cancellation_slot(handler_);
    if (!slot.is_connected()) return {};
    std::stop_source source;
    slot.assign([source](asio::cancellation_type type) mutable {
      if (type != asio::cancellation_type::none) source.request_stop();
    });
    return source.get_token();
  }

  void operator()(result<T> outcome) {
    auto executor = std::move(executor_);
    asio::dispatch(executor, [handler = std::move(handler_), outcome = std::move(outcome)]() mutable {
      // Here and not earlier: signals may be emitted on this executor until the handler runs, and on no other thread.
      asio::get_associated_cancellation_slot(handler).clear();
      finish(std::move(handler), std::move(outcome));
    });
  }

 private:
  static void finish(Handler handler, result<T> outcome) {
    std::exception_ptr why;
    if (!outcome) why = std::make_exception_ptr(error(outcome.error()));
    if constexpr (std::is_void_v<T>) {
      std::move(handler)(why);
    } else {
      std::move(handler)(why, outcome ? std::move(*outcome) : T(nullptr));
    }
  }

  using executor_type = std::decay_t<decltype(asio::prefer(asio::get_associated_executor(std::declval<Handler&>()),
                                                           asio::execution::outstanding_work.tracked))>;
  Handler handler_;
  executor_type executor_;
};

/// `start(std::stop_token) -> operation<T>` as an initiating function.
template <class T, class Start, class CompletionToken>
auto asio_initiate(Start start, CompletionToken&& token) {
  return asio::async_initiate<CompletionToken, typename asio_signature<T>::type>(
      [](auto handler, Start begin) {
        asio_delivery<T, decltype(handler)> delivery(std::move(handler));
        auto started = begin(delivery.cancellation());
        started.then(std::move(delivery));
      },
      token, std::move(start));
}

template <class Operation>
struct operation_value;
template <class T>
struct operation_value<operation<T>> {
  using type = T;
};

}  // namespace detail

/// Waits for `lock`. Completes with (std::exception_ptr, lease), the lease invalid where there is an exception; for a
/// counting_semaphore with (std::exception_ptr). The exception is a holdfast::error.
///
/// `lock` must outlive the wait. Asio's cancellation of the operation (any type) ends it with errc::cancelled and
/// leaves nothing in the store.
///
/// Runs on: the handler is dispatched to its associated executor; without one it runs on a callback thread of the
/// client.
template <async_acquirable Lock, class CompletionToken>
auto async_acquire(Lock& lock, acquire_options options, CompletionToken&& token) {
  using started = decltype(lock.async_acquire(options, std::stop_token()));
  auto start = [&lock, options](std::stop_token stop) { return lock.async_acquire(options, std::move(stop)); };
  return detail::asio_initiate<typename detail::operation_value<started>::type>(start,
                                                                                std::forward<CompletionToken>(token));
}

/// As async_acquire, for a reader.
template <class CompletionToken>
auto async_acquire_shared(shared_mutex& lock, acquire_options options, CompletionToken&& token) {
  auto start = [&lock, options](std::stop_token stop) { return lock.async_acquire_shared(options, std::move(stop)); };
  return detail::asio_initiate<lease>(start, std::forward<CompletionToken>(token));
}

/// As async_acquire, for several permits in one lease.
template <class CompletionToken>
auto async_acquire_permits(permit_semaphore& permits, std::uint32_t n, acquire_options options,
                           CompletionToken&& token) {
  auto start = [&permits, n, options](std::stop_token stop) {
    return permits.async_acquire(options, std::move(stop), n);
  };
  return detail::asio_initiate<lease>(start, std::forward<CompletionToken>(token));
}

/// Waits until `gate` is open. Completes with (std::exception_ptr). Otherwise as async_acquire.
template <class CompletionToken>
auto async_wait(const latch& gate, acquire_options options, CompletionToken&& token) {
  auto start = [&gate, options](std::stop_token stop) { return gate.async_wait(options, std::move(stop)); };
  return detail::asio_initiate<void>(start, std::forward<CompletionToken>(token));
}

}  // namespace holdfast
