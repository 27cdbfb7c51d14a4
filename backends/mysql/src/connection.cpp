#include "connection.hpp"

#include "mysql_error.hpp"
#include "waits.hpp"

#include <mysql.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace holdfast::mysql {

connection::connection(MYSQL* made) : conn_(made), whose_(::getpid()) {}

connection::connection(connection&& other) noexcept { *this = std::move(other); }

connection& connection::operator=(connection&& other) noexcept {
  std::swap(conn_, other.conn_);
  std::swap(fd_, other.fd_);
  std::swap(whose_, other.whose_);
  std::swap(text_, other.text_);
  std::swap(step_, other.step_);
  std::swap(fresh_, other.fresh_);
  std::swap(broken_, other.broken_);
  std::swap(wants_, other.wants_);
  std::swap(code_, other.code_);
  std::swap(stored_, other.stored_);
  return *this;
}

connection::~connection() {
  if (conn_ == nullptr) return;
  // In a forked child: to say good-bye would end the connection of the parent. Its memory is left alone.
  if (whose_ == ::getpid())
    mysql_close(conn_);
  else if (fd_ >= 0)
    ::close(fd_);
}

void connection::settle_socket() noexcept { fd_ = static_cast<int>(mysql_get_socket(conn_)); }

bool connection::stale() const noexcept {
  pollfd one{fd_, POLLIN, 0};
  return broken_ || ::poll(&one, 1, 0) > 0;
}

void connection::start(std::string text) {
  text_ = std::move(text);
  step_ = step::asking;
  fresh_ = true;
}

/// The driver wants to be called again, when there is what it waits for.
bool connection::suspended(int wanted) {
  wants_ = events_of(wanted);
  fresh_ = wanted == 0;
  return wanted != 0;
}

connection::progress connection::refuse(reply& out) {
  out.number = mysql_errno(conn_);
  out.refused = failure_of(out.number, mysql_error(conn_));
  broken_ = broken_ || ends_connection(out.number);
  step_ = step::idle;
  return progress::replied;
}

void connection::store(reply& out) {
  const unsigned columns = mysql_num_fields(stored_);
  out.got = sql::rows(static_cast<int>(columns));
  while (MYSQL_ROW row = mysql_fetch_row(stored_)) {
    const unsigned long* lengths = mysql_fetch_lengths(stored_);
    for (unsigned i = 0; i < columns; ++i)
      out.got.add(row[i] == nullptr ? std::string_view() : std::string_view(row[i], lengths[i]));
  }
  mysql_free_result(std::exchange(stored_, nullptr));
}

connection::progress connection::go_on(short ready, reply& out) {
  out = {};
  const int came = waits_of(ready);
  for (;;) {
    switch (step_) {
      case step::idle:
        return progress::over;
      case step::asking:
        if (suspended(fresh_ ? mysql_real_query_start(&code_, conn_, text_.data(), text_.size())
                             : mysql_real_query_cont(&code_, conn_, came)))
          return progress::waits;
        if (code_ != 0) return refuse(out);
        step_ = step::storing;
        break;
      case step::storing:
        if (fresh_ && mysql_field_count(conn_) == 0) {
          out.status = true;
          step_ = step::advancing;
          return progress::replied;
        }
        if (suspended(fresh_ ? mysql_store_result_start(&stored_, conn_)
                             : mysql_store_result_cont(&stored_, conn_, came)))
          return progress::waits;
        if (stored_ == nullptr) return refuse(out);
        store(out);
        step_ = step::advancing;
        return progress::replied;
      case step::advancing:
        if (fresh_ && !mysql_more_results(conn_)) {
          step_ = step::idle;
          break;
        }
        if (suspended(fresh_ ? mysql_next_result_start(&code_, conn_) : mysql_next_result_cont(&code_, conn_, came)))
          return progress::waits;
        if (code_ > 0) return refuse(out);
        step_ = code_ == 0 ? step::storing : step::idle;
        break;
    }
  }
}

short connection::wait(short events, clock::time_point deadline) const noexcept {
  return wait_for(fd_, events, deadline);
}

result<sql::rows> connection::run(std::string text, clock::time_point deadline) {
  start(std::move(text));
  sql::rows last;
  std::optional<failure> why;
  short ready = 0;
  for (;;) {
    reply one;
    switch (go_on(ready, one)) {
      case progress::waits:
        ready = wait(wants_, deadline);
        if (ready != 0) break;
        broken_ = true;
        return failure{errc::unavailable, "the server did not answer in time"};
      case progress::replied:
        if (one.refused) why = one.refused;
        if (!one.status && !one.refused) last = std::move(one.got);
        break;
      case progress::over:
        if (why) return *why;
        return last;
    }
  }
}

}  // namespace holdfast::mysql
