#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cmd/perenniald/http/api/fields.h"
#include "wire/arguments.h"

namespace perennial::http {

// A member that is a text which the protocol reads as a value of this type. None: there is no such
// member, or it is none, which is a problem of `fields`: "NAME must be FORM."
template <typename T>
std::optional<T> protocol_value(Fields& fields, const std::string& name, std::string_view form) {
  const std::optional<std::string> text = fields.text(name);
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  T out = {};
  if (!rest.starts_with(' ') && wire::take(rest, out) && rest.empty()) return out;
  fields.add_problem(fmt::format("{} must be {}.", name, form));
  return std::nullopt;
}

}  // namespace perennial::http
