#include "tests/cmd/perennial-bench/xml.h"

#include <cstdio>

#include <expat.h>

#include "engine/types/check.h"

namespace perennial::bench {
namespace {

struct Reading {
  std::vector<XmlElement> elements;
  std::vector<size_t> open;  // The open elements, outermost first.
};

Reading& reading_of(void* data) {
  return *static_cast<Reading*>(data);
}

void on_start(void* data, const XML_Char* name, const XML_Char** attributes) {
  Reading& reading = reading_of(data);
  reading.open.push_back(reading.elements.size());
  reading.elements.push_back({.name = name});
  for (; *attributes != nullptr; attributes += 2)
    reading.elements.back().attributes[attributes[0]] = attributes[1];
}

void on_end(void* data, const XML_Char* /*name*/) {
  reading_of(data).open.pop_back();
}

void on_text(void* data, const XML_Char* text, int bytes) {
  Reading& reading = reading_of(data);
  reading.elements[reading.open.back()].text.append(text, static_cast<size_t>(bytes));
}

}  // namespace

std::vector<XmlElement> parse_xml(std::string_view document) {
  Reading reading;
  const XML_Parser parser = XML_ParserCreate(nullptr);
  CHECK(parser != nullptr);
  XML_SetUserData(parser, &reading);
  XML_SetElementHandler(parser, on_start, on_end);
  XML_SetCharacterDataHandler(parser, on_text);
  const XML_Status status =
      XML_Parse(parser, document.data(), static_cast<int>(document.size()), XML_TRUE);
  if (status != XML_STATUS_OK)
    std::fprintf(stderr, "line %lu: %s\n", XML_GetCurrentLineNumber(parser),
                 XML_ErrorString(XML_GetErrorCode(parser)));
  CHECK(status == XML_STATUS_OK);
  XML_ParserFree(parser);
  return reading.elements;
}

}  // namespace perennial::bench
