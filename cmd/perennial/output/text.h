#pragma once

#include <string>
#include <string_view>

#include "cmd/perennial/output/output.h"

// Writes arbitrary bytes as text that a program can decode.
namespace perennial::tool {

bool is_utf8(std::string_view bytes);

// Writes a JSON string with quotes that is also valid YAML: it escapes what JSON requires and every
// character that YAML does not print. REQUIRES: the text is UTF-8.
void add_quoted(Output& out, std::string_view text);
// Writes base64 in quotes.
void add_base64(Output& out, std::string_view bytes);
// Returns false if the text is not base64.
bool from_base64(std::string_view text, std::string& bytes);

}  // namespace perennial::tool
