#include "svg_canvas.hpp"

#include <cstdio>

namespace holdfast::bench {

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      // XML 1.0 has no way to write these.
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string at(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string attribute(std::string_view name, std::string_view value) {
  return ' ' + std::string(name) + "=\"" + escaped(value) + '"';
}

}  // namespace

void svg_canvas::rect(double x, double y, double width, double height, std::string_view fill, double radius) {
  body_ += "<rect" + attribute("x", at(x)) + attribute("y", at(y)) + attribute("width", at(width)) +
           attribute("height", at(height)) + attribute("rx", at(radius)) + attribute("fill", fill) + "/>\n";
}

void svg_canvas::line(double x1, double y1, double x2, double y2, std::string_view stroke, double width) {
  body_ += "<line" + attribute("x1", at(x1)) + attribute("y1", at(y1)) + attribute("x2", at(x2)) +
           attribute("y2", at(y2)) + attribute("stroke", stroke) + attribute("stroke-width", at(width)) + "/>\n";
}

void svg_canvas::marker(double x, double y, std::string_view fill) {
  const std::string points =
      at(x - 5) + ',' + at(y - 8) + ' ' + at(x + 5) + ',' + at(y - 8) + ' ' + at(x) + ',' + at(y);
  body_ += "<polygon" + attribute("points", points) + attribute("fill", fill) + "/>\n";
}

void svg_canvas::text(double x, double y, std::string_view words, const text_style& style) {
  body_ += "<text" + attribute("x", at(x)) + attribute("y", at(y)) +
           attribute("font-size", std::to_string(style.size)) + attribute("fill", style.fill) +
           attribute("text-anchor", style.anchor) + attribute("font-weight", style.weight) + '>' + escaped(words) +
           "</text>\n";
}

std::string svg_canvas::document(double width, double height, std::string_view title) const {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", at(width)) + attribute("height", at(height)) +
         attribute("viewBox", "0 0 " + at(width) + ' ' + at(height)) +
         " font-family=\"'DejaVu Sans', Verdana, Arial, sans-serif\">\n<title>" + escaped(title) + "</title>\n<rect" +
         attribute("width", at(width)) + attribute("height", at(height)) + " fill=\"#fbfbf9\"/>\n" + body_ + "</svg>\n";
}

}  // namespace holdfast::bench
