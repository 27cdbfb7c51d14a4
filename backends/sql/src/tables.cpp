#include "tables.hpp"

namespace holdfast::sql {

const std::vector<table>& tables() {
  constexpr std::string_view set = "NOT NULL";
  constexpr std::string_view zero = "NOT NULL DEFAULT 0";
  static const std::vector<table> all{
      {"meta",
       "What there is to know about the tables themselves.",
       {{"what", type::name, set}, {"number", type::number, set}},
       "what",
       ""},
      {"locks",
       "One row per name, kept when nobody uses it: the tokens go on. All that an exclusive lock without contention "
       "touches is in this row.",
       {
           {"name", type::name, set},
           {"kind", type::number, set},      // spi::kind of the latest use
           {"fence", type::number, set},     // the last token given out
           {"owner", type::id, ""},          // the exclusive holder; NULL: none. The next six are his
           {"token", type::number, zero},    // his first token ...
           {"tokens", type::number, zero},   // ... and how many he has
           {"expires", type::number, zero},  // microseconds on the database's clock, like every time here
           {"since", type::number, zero},
           {"client", type::number,
            zero},                       // as what number his client is told things; 0: it is not; below 0: his session
           {"holder", type::bytes, ""},  // pid, host and name of his client, with tabs between
           {"capacity", type::number, zero},  // permits: how many there are
           {"shares", type::number, zero},    // permits in use, or readers: the sum over the rows of holds
           {"awaited", type::number, zero},   // 0: nobody waits; 1: look into queue
           {"value", type::number, ""},       // semaphore, latch: the number; NULL: never set, or an open latch
       },
       "name",
       ""},
      {"holds",
       "Readers, and holders of permits.",
       {{"name", type::name, set},
        {"owner", type::id, set},
        {"token", type::number, set},
        {"tokens", type::number, set},
        {"permits", type::number, set},
        {"expires", type::number, set},
        {"since", type::number, set},
        {"client", type::number, set},
        {"holder", type::bytes, set}},
       "name, owner",
       ""},
      {"queue",
       "Who waits, in order. Who has not been heard of until alive_until is gone.",
       {{"name", type::name, set},
        {"ticket", type::number, set},
        {"owner", type::id, set},
        {"access", type::number, set},  // spi::access
        {"permits", type::number, set},
        {"tokens", type::number, set},
        {"ttl", type::number, set},
        {"since", type::number, set},
        {"alive_until", type::number, set},
        {"client", type::number, set},
        {"holder", type::bytes, set}},
       "name, ticket",
       "name, owner"},
      {"waiting",
       "Who waits at the server, on a session of its own (scheme=session, scheme=row), and has done so for a while. "
       "For "
       "those who look: the server alone gives the locks out.",
       {{"name", type::name, set},
        {"owner", type::id, set},
        {"kind", type::number, set},
        {"access", type::number, set},
        {"since", type::number, set},
        {"client", type::number, set},  // the number of the session
        {"holder", type::bytes, set}},
       "name, owner",
       ""},
      {"done",
       "Steps that were taken, so that one that is asked for again is not taken again.",
       {{"id", type::id, set},
        {"taken", type::number, set},  // permits of a semaphore
        {"done", type::number, set},   // the answer ...
        {"value", type::number, set},  // ... that was given
        {"ends", type::number, set}},  // when it may be forgotten
       "id",
       ""},
      {"cells",
       "Values with a version.",
       {{"name", type::name, set}, {"version", type::number, set}, {"value", type::bytes, set}},
       "name",
       ""},
      {"fences",
       "The newest token each has admitted.",
       {{"name", type::name, set}, {"newest", type::token, set}},
       "name",
       ""},
  };
  return all;
}

std::string create(const table& t, const dialect& in) {
  std::string text = "CREATE TABLE IF NOT EXISTS " + in.table(t.name) + "(\n";
  for (const column& c : t.columns) {
    text += "  " + std::string(c.name) + " " + in.spell(c.holds);
    if (!c.rest.empty()) text += " " + std::string(c.rest);
    text += ",\n";
  }
  text += "  PRIMARY KEY(" + std::string(t.key) + ")";
  if (!t.other.empty()) text += ",\n  UNIQUE(" + std::string(t.other) + ")";
  return text + in.replace("index", t.name) + "\n)" + in.replace("storage", t.name);
}

}  // namespace holdfast::sql
