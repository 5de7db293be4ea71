#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace perennial::bench {

// One element of an XML document: enough of it to look for.
struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes = {};
  std::string text = {};  // Directly inside it.
};

// All elements of a document in the order of their opening tags. Stops the process with what is
// wrong when it is not well-formed.
std::vector<XmlElement> parse_xml(std::string_view document);

}  // namespace perennial::bench
