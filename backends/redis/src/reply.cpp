#include "reply.hpp"

#include <hiredis/hiredis.h>

#include <charconv>
#include <new>

namespace holdfast::redis {

namespace {

template <class Number>
Number number_in(std::string_view text) {
  Number value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

reply::reply(redisReply* owned) {
  if (owned != nullptr) value_ = std::shared_ptr<const redisReply>(owned, [](redisReply* r) { ::freeReplyObject(r); });
}

reply::type reply::what() const noexcept {
  if (!value_) return type::nil;
  switch (value_->type) {
    case REDIS_REPLY_INTEGER:
      return type::integer;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
      return type::text;
    case REDIS_REPLY_ARRAY:
      return type::array;
    case REDIS_REPLY_ERROR:
      return type::error;
    default:
      return type::nil;
  }
}

std::int64_t reply::integer() const noexcept {
  if (what() == type::integer) return value_->integer;
  return number_in<std::int64_t>(text());
}

std::uint64_t reply::unsigned_integer() const {
  if (what() == type::integer) return static_cast<std::uint64_t>(value_->integer);
  return number_in<std::uint64_t>(text());
}

std::string_view reply::text() const noexcept {
  if (what() != type::text && what() != type::error) return {};
  return {value_->str, static_cast<std::size_t>(value_->len)};
}

std::size_t reply::size() const noexcept { return what() == type::array ? value_->elements : 0; }

reply reply::at(std::size_t index) const {
  if (index >= size()) return nothing();
  return reply(std::shared_ptr<const redisReply>(value_, value_->element[index]));
}

namespace {

// The longest array a server has reason to send is a page of SCAN. One that announces more is broken, or means us harm:
// hiredis would make room for all of it at once.
constexpr std::size_t longest_array = 1 << 20;

const redisReplyObjectFunctions* standard = nullptr;

template <class Count>  // an int in old releases of hiredis
void* make_array(const redisReadTask* task, Count elements) {
  if (static_cast<std::size_t>(elements) > longest_array) return nullptr;
  return standard->createArray(task, elements);
}

redisReplyObjectFunctions bounded(const redisReader& made) {
  standard = made.fn;
  redisReplyObjectFunctions functions = *made.fn;
  functions.createArray = make_array;
  return functions;
}

}  // namespace

void reply_reader::closer::operator()(redisReader* r) const noexcept { ::redisReaderFree(r); }

reply_reader::reply_reader() : reader_(::redisReaderCreate()) {
  if (!reader_) throw std::bad_alloc();
  static redisReplyObjectFunctions functions = bounded(*reader_);
  reader_->fn = &functions;
}

void reply_reader::feed(std::string_view bytes) { ::redisReaderFeed(reader_.get(), bytes.data(), bytes.size()); }

result<std::vector<reply>> reply_reader::take() {
  std::vector<reply> all;
  for (;;) {
    void* one = nullptr;
    if (::redisReaderGetReply(reader_.get(), &one) != REDIS_OK)
      return {errc::unavailable, std::string("it answers, but not as Redis does: ") + reader_->errstr};
    if (one == nullptr) return all;
    all.emplace_back(static_cast<redisReply*>(one));
  }
}

void append_command(std::string& out, const std::vector<std::string_view>& words) {
  char number[24];
  const auto count = [&](char sign, std::size_t n) {
    const auto end = std::to_chars(number, number + sizeof number, n).ptr;
    out += sign;
    out.append(number, end);
    out += "\r\n";
  };
  count('*', words.size());
  for (const auto word : words) {
    count('$', word.size());
    out.append(word);
    out += "\r\n";
  }
}

}  // namespace holdfast::redis
