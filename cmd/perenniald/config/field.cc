#include "cmd/perenniald/config/field.h"

#include <algorithm>

#include <fmt/format.h>

#include "cmd/perenniald/config/value_types.h"

namespace perennial::perenniald {
namespace {

// No path holds a NUL.
Status check_text(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return bad_value("must not hold a NUL byte");
  return fits_yaml(text) ? Status() : bad_value("must be UTF-8 text");
}

}  // namespace

const ConfigField* find_field(ConfigFields fields, std::string_view key) {
  const auto found = std::ranges::find_if(fields, [&](const ConfigField& field) {
    return field.key == key || (!field.former_key.empty() && field.former_key == key);
  });
  return found == fields.end() ? nullptr : &*found;
}

Status set_value(const ConfigField& field, void* object, std::string_view text) {
  if (Status status = check_text(text); !status.ok()) return status;
  return field.type().set(field.value(object), field, text);
}

std::vector<std::string> differences(ConfigFields fields, const void* one, const void* other) {
  std::vector<std::string> names;
  for (const ConfigField& field : fields) {
    if (field.is_reloaded) continue;
    if (field.type().shape == Shape::Section) {
      const ConfigFields inner = field.type().fields();
      for (const std::string& key : differences(inner, field.value(one), field.value(other))) {
        names.push_back(fmt::format("{}.{}", field.key, key));
      }
    } else if (value_yaml(field, one) != value_yaml(field, other)) {
      names.emplace_back(field.key);
    }
  }
  return names;
}

void copy_reloaded(ConfigFields fields, void* to, const void* from) {
  for (const ConfigField& field : fields) {
    if (field.is_reloaded) field.type().copy(field.value(to), field.value(from));
  }
}

}  // namespace perennial::perenniald
