#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace perennial::bench {

// In pixels, from the top left corner.
struct Point {
  double x = 0;
  double y = 0;
};

// Which end of a text stands at its point.
enum class Anchor : uint8_t { Start, Middle, End };

// The elements of an SVG document, in the order in which they are painted. How they look is said by
// the classes of its style sheet. Texts are any bytes: what XML does not take is replaced.
class Svg {
 public:
  void rectangle(std::string_view css_class, Point corner, double width, double height);
  void line(std::string_view css_class, Point from, Point to);
  // Of a single point: a dot, so that it is seen.
  void curve(std::string_view css_class, const std::vector<Point>& points);
  void text(std::string_view css_class, Point at, Anchor anchor, std::string_view text);
  // The whole, on a page of class "page". `title` is what is read out instead of it.
  std::string document(double width, double height, std::string_view title,
                       std::string_view style) const;

 private:
  std::string elements_;
};

// As XML wants it, between tags and in quotes.
std::string xml_text(std::string_view bytes);

}  // namespace perennial::bench
