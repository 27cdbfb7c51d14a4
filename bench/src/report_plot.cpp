#include "format.hpp"
#include "goals.hpp"
#include "report.hpp"
#include "svg_canvas.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace holdfast::bench {

namespace {

constexpr double page_width = 1180;
constexpr double bars_left = 150;
constexpr double bars_right = 640;
constexpr double rate_column = 790;
constexpr double floor_column = 915;
constexpr double ratio_column = 1000;
constexpr double goal_column = 1020;
constexpr double bar_height = 18;
constexpr double row_height = 27;
constexpr double group_gap = 16;

constexpr std::string_view ink = "#1f2933";
constexpr std::string_view quiet = "#616e7c";
constexpr std::string_view grid = "#e2e5e9";
constexpr std::string_view good = "#1a7f37";
constexpr std::string_view bad = "#c62828";
constexpr std::string_view peer_color = "#c3cad1";
constexpr text_style head{12, quiet, "end"};
constexpr text_style figure{13, ink, "end"};

std::string_view color_of(std::string_view store) {
  struct entry {
    std::string_view store, color;
  };
  constexpr std::array colors{entry{"memory", "#8796a5"}, entry{"file", "#4c9f8a"}, entry{"sqlite", "#3b78b8"},
                              entry{"redis", "#b5533c"}, entry{"redlock", "#8a5a83"}};
  for (const auto& known : colors)
    if (known.store == store) return known.color;
  return "#8064a2";
}

/// Ratios on a logarithmic axis: twice and half are equally far from 1.
class ratio_axis {
 public:
  explicit ratio_axis(const std::vector<row>& rows) {
    for (const auto& r : rows) {
      if (!r.ratio) continue;
      include(*r.ratio);
      for (const auto& v : judge(r))
        if (v.wanted.of == metric::ratio) include(v.wanted.limit);
    }
    low_ = std::pow(10, std::floor(std::log10(low_ * 0.8)));
    high_ = std::pow(10, std::ceil(std::log10(high_ * 1.05) * 2) / 2);
  }

  double x(double ratio) const {
    const double share = std::log10(std::clamp(ratio, low_, high_) / low_) / std::log10(high_ / low_);
    return bars_left + share * (bars_right - bars_left);
  }
  void draw(svg_canvas& canvas, double top, double bottom) const {
    for (double tick = low_; tick <= high_ * 1.01; tick *= 10) {
      for (const double step : {tick, tick * 3}) {
        if (step > high_ * 1.01 || std::fabs(step - 1) < 0.01) continue;
        canvas.line(x(step), top, x(step), bottom, grid, 1);
        canvas.text(x(step), top - 6, short_number(step), {11, quiet, "middle"});
      }
    }
    canvas.line(x(1), top, x(1), bottom, quiet, 1.5);
    canvas.text(x(1), top - 6, "1 = floor", {11, ink, "middle", "bold"});
  }

 private:
  void include(double ratio) {
    if (ratio <= 0) return;
    low_ = std::min(low_, ratio);
    high_ = std::max(high_, ratio);
  }
  double low_ = 0.3;
  double high_ = 3;
};

void draw_goal(svg_canvas& canvas, double x, double y, const verdict& v, std::string_view words) {
  const auto color = v.met ? good : bad;
  canvas.line(x, y - 2, x, y + bar_height + 2, color, 2);
  canvas.marker(x, y - 1, color);
  canvas.text(goal_column, y + 14, std::string(words) + (v.met ? ": met" : ": missed"), {12, color});
}

/// What a workload's bars mean, beside its name.
std::string meaning(const row& r) {
  switch (r.what) {
    case workload::uncontended:
      return "1 thread, 1 lock";
    case workload::many:
      return std::to_string(r.threads) + " threads, a lock each";
    case workload::handover:
      return std::to_string(r.threads) + " threads of one process, one lock";
    case workload::processes:
      return std::to_string(r.processes) + " processes, one lock";
    case workload::fair:
      return std::to_string(r.processes) + " processes, one lock, first come first served";
    case workload::reentry:
      return "a thread takes again what it holds";
    case workload::run:
      return "holdfast run NAME -- true, beside flock FILE true";
    default:
      return "";
  }
}

std::string unit_of(const row& r) {
  if (r.commands) return "runs/s";
  return r.rate->handovers_per_second ? "handovers/s" : "pairs/s";
}

void draw_ratio_row(svg_canvas& canvas, const ratio_axis& axis, const row& r, double y) {
  const bool ours = r.peer.empty();
  canvas.text(bars_left - 12, y + 14, ours ? r.store : r.peer, ours ? figure : head);
  if (r.ratio)
    canvas.rect(bars_left, y, std::max(1.0, axis.x(*r.ratio) - bars_left), bar_height,
                ours ? color_of(r.store) : peer_color, 2);
  canvas.text(rate_column, y + 14, grouped(r.rate->handovers_per_second.value_or(r.rate->pairs_per_second)), figure);
  canvas.text(floor_column, y + 14, r.floor ? grouped(r.floor->per_second) : "-", figure);
  canvas.text(ratio_column, y + 14, r.ratio ? short_number(*r.ratio) + " \u00d7" : "-", {13, ink, "end", "bold"});
  for (const auto& v : judge(r)) {
    if (v.wanted.of == metric::ratio)
      draw_goal(canvas, axis.x(v.wanted.limit), y, v, "goal " + short_number(v.wanted.limit) + " \u00d7");
    // At most three times as long is at least a third as often.
    if (v.wanted.of == metric::times_floor)
      draw_goal(canvas, axis.x(1 / v.wanted.limit), y, v, "goal 1/" + short_number(v.wanted.limit) + " \u00d7");
  }
}

/// The rows of one workload belong together, in the order they were measured.
std::vector<std::vector<row>> by_workload(const std::vector<row>& rows) {
  std::vector<std::vector<row>> groups;
  for (const auto& r : rows) {
    if (!r.rate) continue;
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g[0].what == r.what; });
    if (group == groups.end()) {
      groups.push_back({r});
    } else {
      group->push_back(r);
    }
  }
  return groups;
}

/// Draws from `y` down and gives the y below it.
double draw_ratios(svg_canvas& canvas, const std::vector<row>& rows, double y) {
  const auto groups = by_workload(rows);
  if (groups.empty()) return y;
  const ratio_axis axis(rows);
  double bottom = y + 24;
  for (const auto& group : groups) bottom += 24 + static_cast<double>(group.size()) * row_height + group_gap;
  axis.draw(canvas, y + 16, bottom - group_gap);
  canvas.text(rate_column, y + 10, "per second", head);
  canvas.text(floor_column, y + 10, "floor", head);
  canvas.text(ratio_column, y + 10, "to the floor", head);
  y += 24;
  for (const auto& group : groups) {
    canvas.rect(20, y + 1, page_width - 40, 20, "#eef1f4", 2);
    canvas.text(28, y + 16, to_string(group[0].what), {13, ink, "start", "bold"});
    canvas.text(bars_left, y + 16, meaning(group[0]), {12, quiet});
    canvas.text(rate_column, y + 16, unit_of(group[0]), head);
    y += 31;
    for (const auto& r : group) {
      draw_ratio_row(canvas, axis, r, y);
      y += row_height;
    }
    y += group_gap - 7;
  }
  return y;
}

/// A number with an upper limit, or a share with a lower one.
struct budget {
  std::string label;
  std::string store;
  verdict held;
};

std::vector<budget> budgets_of(const std::vector<row>& rows) {
  std::vector<budget> all;
  for (const auto& r : rows)
    for (const auto& v : judge(r))
      if (v.wanted.of != metric::ratio && v.wanted.of != metric::times_floor)
        all.push_back({std::string(to_string(r.what)) + ", " + std::string(to_string(v.wanted.of)), r.store, v});
  return all;
}

double draw_budgets(svg_canvas& canvas, const std::vector<row>& rows, double y) {
  const auto budgets = budgets_of(rows);
  if (budgets.empty()) return y;
  constexpr double label_end = 300;
  constexpr double limit_at = label_end + (bars_right - label_end) * 2 / 3;
  canvas.text(20, y + 16, "Limits", {15, ink, "start", "bold"});
  canvas.text(bars_left, y + 16, "the bar's end beside its limit: resources and waits stay left of it, shares reach it",
              {12, quiet});
  y += 40;
  for (const auto& b : budgets) {
    const double part = std::min(1.5, b.held.wanted.limit > 0 ? b.held.value / b.held.wanted.limit : 0);
    canvas.text(28, y + 14, b.store, {13, ink});
    canvas.text(label_end - 12, y + 14, b.label, figure);
    canvas.rect(label_end, y, std::max(1.0, part * (limit_at - label_end)), bar_height, color_of(b.store), 2);
    canvas.text(rate_column, y + 14, short_number(b.held.value), {13, ink, "end", "bold"});
    draw_goal(
        canvas, limit_at, y, b.held,
        (b.held.wanted.is == goal::bound::at_least ? "at least " : "at most ") + short_number(b.held.wanted.limit));
    y += row_height;
  }
  return y;
}

}  // namespace

std::string to_svg(const report& r) {
  constexpr std::string_view title = "Holdfast beside the floor: the raw client of the same store";
  svg_canvas canvas;
  canvas.text(20, 38, title, {20, ink, "start", "bold"});
  canvas.text(20, 60, describe(r.where) + "; " + r.when, {12, quiet});
  canvas.text(
      20, 80,
      "Bars: ours / floor, medians of slices taken in turns; logarithmic, longer is better. Marks: goals. Below ours, "
      "in grey: other clients of the same servers.",
      {12, quiet});
  double y = draw_ratios(canvas, r.rows, 100);
  y = draw_budgets(canvas, r.rows, y + 12);
  return canvas.document(page_width, y + 20, title);
}

}  // namespace holdfast::bench
