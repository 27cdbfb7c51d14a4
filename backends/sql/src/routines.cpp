#include "routines.hpp"

#include "routine_text.hpp"

#include <stdexcept>
#include <utility>

namespace holdfast::sql {

const std::vector<variable>& variables() {
  static const std::vector<variable> all{
      {"v_kind"},
      {"v_fence"},
      {"v_owner", type::id},
      {"v_token"},
      {"v_tokens"},
      {"v_expires"},
      {"v_since"},
      {"v_client"},
      {"v_holder", type::bytes},
      {"v_shares"},
      {"v_capacity"},
      {"v_awaited"},
      {"v_value"},
      {"v_now"},
      {"v_dirty"},
      {"v_n"},
      {"v_last"},
      {"v_more"},
      {"v_first"},
      {"v_blocked"},
      {"v_ticket"},
      {"v_before"},
      {"v_after"},
      {"v_self", type::id},
      {"q_ticket"},
      {"q_access"},
      {"q_owner", type::id},
      {"q_tokens"},
      {"q_permits"},
      {"q_holder", type::bytes},
      {"q_ttl"},
      {"q_client"},
      {"o_what"},
      {"o_token"},
      {"o_tokens"},
      {"o_left"},
      {"v_end"},
      {"v_ahead"},
      {"q_alive"},
      {"v_by", type::text},
  };
  return all;
}

const std::vector<routine>& routines() {
  const std::vector<variable> entry{{"p_name", type::name}, {"p_kind"},    {"p_owner", type::id},
                                    {"p_access"},           {"p_permits"}, {"p_limit"},
                                    {"p_tokens"},           {"p_ttl"},     {"p_queue"},
                                    {"p_patience"},         {"p_client"},  {"p_holder", type::bytes},
                                    {"p_memory"},           {"p_last"}};
  // o_what: 0 busy, 1 granted, 2 in use as kind o_token, 3 in use with o_token permits, 4 later than p_last. o_left:
  // granted: until it ends; busy: until the first of the holders does, or -1. o_tokens: busy: how many are ahead.
  const std::vector<variable> outcome{{"o_what"}, {"o_token"}, {"o_tokens"}, {"o_left"}, {"o_now"}};
  static const std::vector<routine> all{
      {"enter", entry, outcome, text::enter},
      {"enter_number", entry, outcome, text::enter_number},
      {"leave", {{"p_name", type::name}, {"p_owner", type::id}}, {{"o_done"}}, text::leave},
      {"leave_number",
       {{"p_name", type::name}, {"p_kind"}, {"p_owner", type::id}, {"p_memory"}},
       {{"o_done"}},
       text::leave_number},
      {"renew", {{"p_name", type::name}, {"p_owner", type::id}, {"p_ttl"}}, {{"o_done"}}, text::renew},
      // o_done: -2: later than p_last, -1: not ours, 0: not possible, 1: done
      {"convert",
       {{"p_name", type::name}, {"p_owner", type::id}, {"p_access"}, {"p_last"}},
       {{"o_done"}},
       text::convert},
      {"raise_token", {{"p_name", type::name}, {"p_owner", type::id}, {"p_floor"}}, {{"o_done"}}, text::raise_token},
      // o_done: 0 and 1 as count_reply::done, 2 in use as kind o_value, 4 does not fit in 64 bits
      {"count_step",
       {{"p_name", type::name}, {"p_kind"}, {"p_step"}, {"p_amount"}, {"p_owner", type::id}, {"p_memory"}},
       {{"o_done"}, {"o_value"}},
       text::count_step},
      {"exchange_cell",
       {{"p_name", type::name}, {"p_expected"}, {"p_value", type::bytes}, {"p_owner", type::id}, {"p_memory"}},
       {{"o_done"}},
       text::exchange_cell},
      {"admit_token",
       {{"p_name", type::name}, {"p_token", type::token}},
       {{"o_newest", type::token}},
       text::admit_token},
      {"evict", {{"p_name", type::name}}, {{"o_done"}}, text::evict},
  };
  return all;
}

const std::vector<routine>& routines_of(const layout& which) {
  if (!which.shares()) return routines();
  static const std::vector<routine> shared = [] {
    std::vector<routine> few;
    for (const auto& [name, body] : {std::pair("enter", text::shed_enter), std::pair("leave", text::shed_leave),
                                     std::pair("renew", text::shed_renew), std::pair("evict", text::shed_evict)}) {
      few.push_back(routine_called(name));
      few.back().body = body;
    }
    return few;
  }();
  return shared;
}

const routine& routine_called(std::string_view name, const layout& which) {
  for (const routine& r : routines_of(which))
    if (r.name == name) return r;
  throw std::logic_error("no such routine: " + std::string(name));
}

}  // namespace holdfast::sql
