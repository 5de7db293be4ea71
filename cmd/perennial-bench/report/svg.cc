#include "cmd/perennial-bench/report/svg.h"

#include <iterator>

#include <fmt/format.h>
#include <utf8.h>

namespace perennial::bench {
namespace {

constexpr double dot_radius = 2;
constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD

std::string_view word_of(Anchor anchor) {
  switch (anchor) {
    case Anchor::Start:
      return "start";
    case Anchor::Middle:
      return "middle";
    case Anchor::End:
      break;
  }
  return "end";
}

// XML 1.0, "Char": of the control characters only these three.
bool is_xml(char byte) {
  return static_cast<unsigned char>(byte) >= 0x20 || byte == '\t' || byte == '\n' || byte == '\r';
}

void append_escaped(std::string& out, char byte) {
  switch (byte) {
    case '&':
      out += "&amp;";
      return;
    case '<':
      out += "&lt;";
      return;
    case '>':
      out += "&gt;";
      return;
    case '"':
      out += "&quot;";
      return;
    default:
      if (is_xml(byte)) {
        out += byte;
      } else {
        out += replacement;
      }
  }
}

}  // namespace

void Svg::rectangle(std::string_view css_class, Point corner, double width, double height) {
  elements_ += fmt::format(
      "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
      css_class, corner.x, corner.y, width, height);
}

void Svg::line(std::string_view css_class, Point from, Point to) {
  elements_ +=
      fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                  css_class, from.x, from.y, to.x, to.y);
}

void Svg::curve(std::string_view css_class, const std::vector<Point>& points) {
  if (points.size() == 1) {
    elements_ += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>\n",
                             css_class, points[0].x, points[0].y, dot_radius);
    return;
  }
  elements_ += fmt::format("<polyline class=\"{}\" points=\"", css_class);
  for (const Point& point : points)
    fmt::format_to(std::back_inserter(elements_), "{:.1f},{:.1f} ", point.x, point.y);
  elements_ += "\"/>\n";
}

void Svg::text(std::string_view css_class, Point at, Anchor anchor, std::string_view text) {
  elements_ +=
      fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                  css_class, at.x, at.y, word_of(anchor), xml_text(text));
}

std::string Svg::document(double width, double height, std::string_view title,
                          std::string_view style) const {
  Svg page;
  page.rectangle("page", {}, width, height);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<title>{2}</title>\n<style>\n{3}</style>\n{4}{5}</svg>\n",
      width, height, xml_text(title), xml_text(style), page.elements_, elements_);
}

std::string xml_text(std::string_view bytes) {
  std::string valid;
  utf8::replace_invalid(bytes.begin(), bytes.end(), std::back_inserter(valid));
  std::string out;
  for (const char byte : valid) append_escaped(out, byte);
  return out;
}

}  // namespace perennial::bench
