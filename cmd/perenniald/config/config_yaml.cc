#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include "cmd/common/yaml/one_document.h"
#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/config/config_types.h"
#include "engine/types/check.h"

// The only file that includes yaml-cpp. Its exceptions are caught here. It knows the shapes of
// values, and no settings but batch_bytes_max and the cluster, which lowers it.
namespace perennial::perenniald {
namespace {

// The object whose rows are read.
struct Scope {
  std::string what;    // What stands before the keys in messages: "users: grants: ".
  std::string prefix;  // Of the keys in a section of the object: "tls.".
  GivenKeys& given;
};

struct Reader {
  std::string_view name;
  Problems problems = {};

  void problem_in(int line, std::string_view what) {
    problems.push_back(fmt::format("{}:{}: {}", name, line, what));
  }
  void problem(const YAML::Mark& mark, std::string_view what) { problem_in(mark.line + 1, what); }
  void expected(const YAML::Mark& mark, std::string_view path, std::string_view what) {
    problem(mark, fmt::format("{}: expected {}", path, what));
  }
  // Reads all keys of a map.
  void read_rows(const ValueType& type, void* object, const YAML::Node& map, const Scope& scope);
  void read_row(const ValueType& type, void* object, const YAML::Node& key, const YAML::Node& value,
                const Scope& scope);
  // The same of an object with keys of its own, which is then checked as a whole.
  void read_object(const ValueType& type, void* object, const YAML::Node& map, std::string what);
  // `path`: the key with what stands before it in messages.
  void read_text(const ConfigField& field, void* object, const YAML::Node& value,
                 std::string_view path);
  void read_list(const ConfigField& field, void* object, const YAML::Node& value,
                 std::string_view path);
  void read_entries(const ValueType& type, void* to, const YAML::Node& value,
                    std::string_view path);
  bool read_entry(const ValueType& type, const YAML::Node& value, std::string_view path,
                  MapEntry& entry);
  void read_section(const ConfigField& field, void* to, const YAML::Node& value,
                    std::string_view path, const Scope& scope);
  void read_sections(const ValueType& type, void* to, const YAML::Node& value,
                     std::string_view path);
};

// Whether the file makes the server a node of a cluster.
bool has_cluster_section(const YAML::Node& root) {
  for (const auto& entry : root) {
    if (!entry.first.IsScalar() || entry.first.Scalar() != "cluster") continue;
    return entry.second.IsMap() && entry.second.size() > 0;
  }
  return false;
}

// Whether "key:", or "key: {}" of a section, stands for an empty value.
bool is_nothing(const ValueType& type, const YAML::Node& value) {
  if (!type.may_be_nothing) return false;
  return value.IsNull() || (type.shape == Shape::Section && value.IsMap() && value.size() == 0);
}

std::string no_such_setting(const ValueType& type, const Scope& scope) {
  if (scope.what.empty()) return "there is no such setting (--print-config shows all)";
  std::vector<std::string_view> keys;
  for (const ConfigField& field : type.fields()) keys.push_back(field.key);
  return fmt::format("there is no such setting{}{}: {}", type.owner.empty() ? "" : " of ",
                     type.owner, fmt::join(keys, ", "));
}

void Reader::read_rows(const ValueType& type, void* object, const YAML::Node& map,
                       const Scope& scope) {
  for (const auto& entry : map) read_row(type, object, entry.first, entry.second, scope);
}

void Reader::read_row(const ValueType& type, void* object, const YAML::Node& key,
                      const YAML::Node& value, const Scope& scope) {
  if (!key.IsScalar()) return problem(key.Mark(), scope.what + "expected the name of a setting");
  const std::string path = scope.what + scope.prefix + key.Scalar();
  const ConfigField* const field = find_field(type.fields(), key.Scalar());
  if (field == nullptr) {
    return problem(key.Mark(), fmt::format("{}: {}", path, no_such_setting(type, scope)));
  }
  if (!scope.given.insert(scope.prefix + std::string(field->key)).second) {
    return problem(key.Mark(), path + ": set twice");
  }
  void* const to = field->value(object);
  if (field->type().clear != nullptr) field->type().clear(to);
  if (is_nothing(field->type(), value)) return;
  switch (field->type().shape) {
    case Shape::Value:
      return read_text(*field, object, value, path);
    case Shape::List:
      return read_list(*field, object, value, path);
    case Shape::Map:
      return read_entries(field->type(), to, value, path);
    case Shape::Section:
      return read_section(*field, to, value, path, scope);
    case Shape::Sections:
      return read_sections(field->type(), to, value, path);
  }
}

void Reader::read_object(const ValueType& type, void* object, const YAML::Node& map,
                         std::string what) {
  const size_t before = problems.size();
  GivenKeys given;
  const Scope scope = {.what = std::move(what), .prefix = {}, .given = given};
  read_rows(type, object, map, scope);
  if (problems.size() > before) return;
  for (const std::string& wrong : type.finish(object, given))
    problem(map.Mark(), scope.what + wrong);
}

void Reader::read_text(const ConfigField& field, void* object, const YAML::Node& value,
                       std::string_view path) {
  if (!value.IsScalar()) return expected(value.Mark(), path, field.type().item);
  const Status status = set_value(field, object, value.Scalar());
  if (!status.ok()) problem(value.Mark(), fmt::format("{}: {}", path, status.message()));
}

void Reader::read_list(const ConfigField& field, void* object, const YAML::Node& value,
                       std::string_view path) {
  if (value.IsScalar()) return read_text(field, object, value, path);
  if (!value.IsSequence()) return expected(value.Mark(), path, field.type().form);
  const auto stands_alone = field.type().stands_alone;
  for (const YAML::Node& element : value) {
    if (stands_alone != nullptr && element.IsScalar() && stands_alone(element.Scalar())) {
      problem(element.Mark(),
              fmt::format("{}: '{}' stands alone, not in a list", path, element.Scalar()));
    } else {
      read_text(field, object, element, path);
    }
  }
}

void Reader::read_entries(const ValueType& type, void* to, const YAML::Node& value,
                          std::string_view path) {
  if (!value.IsMap()) return expected(value.Mark(), path, type.form);
  GivenKeys given;
  for (const auto& item : value) {
    const YAML::Node& key = item.first;
    const YAML::Node& content = item.second;
    const bool is_of_type = type.has_options ? content.IsMap() : content.IsScalar();
    if (!key.IsScalar() || !is_of_type) {
      expected(key.Mark(), path, type.item);
      continue;
    }
    MapEntry entry = {.name = key.Scalar()};
    if (!given.insert(entry.name).second) {
      problem(key.Mark(), fmt::format("{}: {}: set twice", path, entry.name));
      continue;
    }
    if (!read_entry(type, content, path, entry)) continue;
    const Status status = type.add(to, entry);
    if (!status.ok()) problem(key.Mark(), fmt::format("{}: {}", path, status.message()));
  }
}

bool Reader::read_entry(const ValueType& type, const YAML::Node& value, std::string_view path,
                        MapEntry& entry) {
  if (!type.has_options) entry.text = value.Scalar();
  if (!type.has_options) return true;
  for (const auto& option : value) {
    if (!option.first.IsScalar() || !option.second.IsScalar()) {
      expected(option.first.Mark(), fmt::format("{}: {}", path, entry.name), "one value");
      return false;
    }
    entry.options.emplace_back(option.first.Scalar(), option.second.Scalar());
  }
  return true;
}

// A section that is not checked as a whole has keys of the object around it.
void Reader::read_section(const ConfigField& field, void* to, const YAML::Node& value,
                          std::string_view path, const Scope& scope) {
  const ValueType& type = field.type();
  if (!value.IsMap() || value.size() == 0) return expected(value.Mark(), path, type.form);
  if (const std::string why = type.refusal == nullptr ? "" : type.refusal(); !why.empty()) {
    return problem(value.Mark(), fmt::format("{}: {}", path, why));
  }
  void* const object = type.object(to);
  if (type.finish != nullptr) return read_object(type, object, value, fmt::format("{}: ", path));
  const std::string prefix = fmt::format("{}{}.", scope.prefix, field.key);
  read_rows(type, object, value, {.what = scope.what, .prefix = prefix, .given = scope.given});
}

void Reader::read_sections(const ValueType& type, void* to, const YAML::Node& value,
                           std::string_view path) {
  if (!value.IsSequence()) {
    return expected(value.Mark(), path, fmt::format("a list of {}", type.form));
  }
  for (const YAML::Node& element : value) {
    if (element.IsMap()) {
      read_object(type, type.object(to), element, fmt::format("{}: ", path));
    } else {
      expected(element.Mark(), path, type.form);
    }
  }
}

// Whether yaml-cpp reads the text back from a line of its own, as a value and in a list.
bool reads_back(const std::string& yaml, std::string_view text) {
  try {
    return YAML::Load("key: " + yaml + "\n")["key"].Scalar() == text &&
           YAML::Load("[" + yaml + "]\n")[0].Scalar() == text;
  } catch (const YAML::Exception&) {
    return false;
  }
}

std::string quoted_yaml_of(const std::string& text) {
  YAML::Emitter quoted;
  quoted << YAML::DoubleQuoted << text;
  return quoted.c_str();
}

// Quotes the text where yaml-cpp does, and where it should: version 0.7 leaves a carriage return
// without quotes.
std::string yaml_of(const std::string& text) {
  YAML::Emitter plain;
  plain << text;
  return reads_back(plain.c_str(), text) ? plain.c_str() : quoted_yaml_of(text);
}

std::string text_yaml(const ValueType& type, const std::string& text) {
  return type.is_quoted ? quoted_yaml_of(text) : yaml_of(text);
}

std::string list_yaml(const ConfigField& field, const void* value) {
  const ValueType& type = field.type();
  std::vector<std::string> texts = type.texts(value, field);
  if (texts.size() == 1 && type.stands_alone != nullptr && type.stands_alone(texts[0])) {
    return texts[0];
  }
  for (std::string& text : texts) text = text_yaml(type, text);
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string map_yaml(const ValueType& type, const void* value) {
  std::vector<std::string> entries;
  for (const MapEntry& entry : type.entries(value)) {
    std::vector<std::string> options;
    for (const auto& [key, option] : entry.options) {
      options.push_back(fmt::format("{}: {}", key, quoted_yaml_of(option)));
    }
    entries.push_back(fmt::format("{}: {}", quoted_yaml_of(entry.name),
                                  type.has_options ? fmt::format("{{{}}}", fmt::join(options, ", "))
                                                   : quoted_yaml_of(entry.text)));
  }
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

// A row of a section is left out while it has its default text, or nothing.
bool is_left_out(const ConfigField& field, const void* object, std::string_view yaml) {
  if (field.is_always_shown) return false;
  if (field.type().shape != Shape::Value) return yaml == "[]" || yaml == "{}";
  return field.type().texts(field.value(object), field)[0] == field.origin.text;
}

// Single values come first, then sections, then lists.
int print_rank(const ConfigField* field) {
  const Shape shape = field->type().shape;
  return shape == Shape::Value ? 0 : shape == Shape::Section ? 1 : 2;
}

std::string section_yaml(ConfigFields fields, const void* object) {
  std::vector<const ConfigField*> rows;
  for (const ConfigField& field : fields) rows.push_back(&field);
  std::ranges::stable_sort(rows, {}, print_rank);
  std::vector<std::string> entries;
  for (const ConfigField* const field : rows) {
    const std::string yaml = value_yaml(*field, object);
    if (!is_left_out(*field, object, yaml)) {
      entries.push_back(fmt::format("{}: {}", field->key, yaml));
    }
  }
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

std::string sections_yaml(const ValueType& type, const void* value) {
  std::vector<std::string> sections;
  for (const void* const object : type.objects(value)) {
    sections.push_back(section_yaml(type.fields(), object));
  }
  if (type.shape == Shape::Section) return sections.empty() ? "{}" : sections[0];
  return fmt::format("[{}]", fmt::join(sections, ", "));
}

// Reads the one document of a text.
template <typename Read>
Problems read_document(Reader& reader, const std::string& text, Read read) {
  if (const auto wrong = common::not_one_document(text); wrong) {
    reader.problem_in(wrong->line, wrong->what);
    return std::move(reader.problems);
  }
  try {
    const YAML::Node document = YAML::Load(text);
    if (!document.IsNull()) read(document);  // Null: it has comments only.
  } catch (const YAML::Exception& error) {
    reader.problem(error.mark, error.msg);
  }
  return std::move(reader.problems);
}

}  // namespace

Problems read_config(Config& config, std::string_view yaml, std::string_view name) {
  Reader reader{name};
  return read_document(reader, std::string(yaml), [&](const YAML::Node& root) {
    if (!root.IsMap()) {
      return reader.problem(root.Mark(), "expected lines of the form 'key: value'");
    }
    if (has_cluster_section(root)) {
      config.batch_bytes_max = std::min(config.batch_bytes_max, cluster_batch_bytes_max);
    }
    constexpr ValueType settings = {.shape = Shape::Section, .fields = config_fields};
    GivenKeys given;
    reader.read_rows(settings, &config, root, {.what = {}, .prefix = {}, .given = given});
  });
}

Problems read_users(std::vector<access::User>& users, std::string_view yaml,
                    std::string_view name) {
  Reader reader{name};
  return read_document(reader, std::string(yaml), [&](const YAML::Node& root) {
    reader.read_sections(users_type, &users, root, "users");
  });
}

bool fits_yaml(std::string_view text) {
  return reads_back(yaml_of(std::string(text)), text);
}

std::string value_yaml(const ConfigField& field, const void* object) {
  const ValueType& type = field.type();
  const void* const value = field.value(object);
  switch (type.shape) {
    case Shape::Value:
      return text_yaml(type, type.texts(value, field)[0]);
    case Shape::List:
      return list_yaml(field, value);
    case Shape::Map:
      return map_yaml(type, value);
    case Shape::Section:
    case Shape::Sections:
      return sections_yaml(type, value);
  }
  CHECK(!"a shape that is none");
  return {};
}

}  // namespace perennial::perenniald
