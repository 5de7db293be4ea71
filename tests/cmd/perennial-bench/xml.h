#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace perennial::bench {

// The parts of an XML element that tests search for.
struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes = {};
  std::string text = {};  // The text directly inside the element.
};

// All elements of a document in the order of their opening tags. Stops the process with a message
// if the document is not well-formed.
std::vector<XmlElement> parse_xml(std::string_view document);

}  // namespace perennial::bench
