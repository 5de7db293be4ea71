#pragma once

#include <string>
#include <string_view>

namespace perennial::perenniald {

// The fields of a line of the log as members of a JSON object, without its braces: "at=stop why=\"a
// b\"" becomes "\"at\":\"stop\",\"why\":\"a b\"". All values are texts, so that a field has one
// type in every line. `fields` is what common::logfmt_value() has written: what it shows as "\x1b"
// stays so.
std::string json_members(std::string_view fields);

}  // namespace perennial::perenniald
