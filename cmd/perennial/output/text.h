#pragma once

#include <string>
#include <string_view>

#include "cmd/perennial/output/output.h"

// Bytes of others as text that a program can take back.
namespace perennial::tool {

bool is_utf8(std::string_view bytes);

// As a string of JSON, quotes included, that is one of YAML, too: besides what JSON wants escaped,
// every character that YAML does not print is. REQUIRES: it is UTF-8.
void add_quoted(Output& out, std::string_view text);
// In base64 and quotes.
void add_base64(Output& out, std::string_view bytes);
// False: it is not base64.
bool from_base64(std::string_view text, std::string& bytes);

}  // namespace perennial::tool
