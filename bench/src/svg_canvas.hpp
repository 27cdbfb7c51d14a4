#pragma once

#include <string>
#include <string_view>

namespace holdfast::bench {

/// How a piece of text looks.
struct text_style {
  int size = 13;
  std::string_view fill = "#1f2933";
  std::string_view anchor = "start";
  std::string_view weight = "normal";
};

/// Collects shapes, top to bottom, and gives the whole SVG document. Text is escaped here and nowhere else.
class svg_canvas {
 public:
  void rect(double x, double y, double width, double height, std::string_view fill, double radius = 0);
  void line(double x1, double y1, double x2, double y2, std::string_view stroke, double width);
  /// Points down, its tip at (x, y).
  void marker(double x, double y, std::string_view fill);
  void text(double x, double y, std::string_view words, const text_style& style = {});

  std::string document(double width, double height, std::string_view title) const;

 private:
  std::string body_;
};

}  // namespace holdfast::bench
