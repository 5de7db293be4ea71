#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include "cmd/perenniald/config/config.h"

// The only file that knows yaml-cpp. Its exceptions stop here.
namespace perennial::perenniald {
namespace {

struct Reader {
  Config& config;
  std::string_view name;
  Problems problems;
  std::set<std::string> seen;

  void problem(const YAML::Mark& mark, std::string_view what) {
    problems.push_back(fmt::format("{}:{}: {}", name, mark.line + 1, what));
  }
  void read(const YAML::Node& root);
  void read_key(const YAML::Node& key, const YAML::Node& value);
  void read_addresses(const ConfigField& field, const YAML::Node& value);
  void set(const ConfigField& field, const YAML::Node& value);
};

void Reader::read(const YAML::Node& root) {
  if (root.IsNull()) return;  // A file of nothing but comments.
  if (!root.IsMap()) return problem(root.Mark(), "expected lines of the form 'key: value'");
  for (const auto& entry : root) read_key(entry.first, entry.second);
}

void Reader::read_key(const YAML::Node& key, const YAML::Node& value) {
  if (!key.IsScalar()) return problem(key.Mark(), "expected the name of a setting");
  const std::string& text = key.Scalar();
  if (!seen.insert(text).second) return problem(key.Mark(), fmt::format("{}: set twice", text));
  for (const ConfigField& field : config_fields()) {
    if (field.key != text) continue;
    return field.unit == ConfigUnit::Addresses ? read_addresses(field, value) : set(field, value);
  }
  problem(key.Mark(), fmt::format("{}: there is no such setting (--print-config shows all)", text));
}

void Reader::read_addresses(const ConfigField& field, const YAML::Node& value) {
  config.listen.clear();
  if (value.IsNull()) return;
  if (value.IsScalar()) return set(field, value);
  if (!value.IsSequence()) {
    return problem(value.Mark(),
                   fmt::format("{}: expected an address or a list of them", field.key));
  }
  for (const YAML::Node& address : value) set(field, address);
}

void Reader::set(const ConfigField& field, const YAML::Node& value) {
  if (!value.IsScalar()) {
    return problem(value.Mark(), fmt::format("{}: expected one value", field.key));
  }
  const Status status = set_config(config, field, value.Scalar());
  if (!status.ok()) problem(value.Mark(), fmt::format("{}: {}", field.key, status.message()));
}

// On a line of its own, behind a key as well as in a list.
bool reads_back(const std::string& yaml, std::string_view text) {
  try {
    return YAML::Load("key: " + yaml + "\n")["key"].Scalar() == text &&
           YAML::Load("[" + yaml + "]\n")[0].Scalar() == text;
  } catch (const YAML::Exception&) {
    return false;
  }
}

// In quotes where yaml-cpp says so, and where it should: 0.7 leaves a carriage return bare.
std::string yaml_of(const std::string& text) {
  YAML::Emitter plain;
  plain << text;
  if (reads_back(plain.c_str(), text)) return plain.c_str();
  YAML::Emitter quoted;
  quoted << YAML::DoubleQuoted << text;
  return quoted.c_str();
}

}  // namespace

Problems read_config(Config& config, std::string_view yaml, std::string_view name) {
  Reader reader{config, name, {}, {}};
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(yaml));
    if (documents.size() > 1) {
      reader.problem(documents[1].Mark(), "a second document ('---'): there may be only one");
    } else if (!documents.empty()) {
      reader.read(documents[0]);
    }
  } catch (const YAML::Exception& error) {
    reader.problem(error.mark, error.msg);
  }
  return std::move(reader.problems);
}

bool fits_yaml(std::string_view text) {
  return reads_back(yaml_of(std::string(text)), text);
}

std::string print_config(const Config& config) {
  std::string out;
  for (const ConfigField& field : config_fields()) {
    std::string value;
    if (field.unit == ConfigUnit::Addresses) {
      std::vector<std::string> addresses;
      for (const std::string& address : config.listen) addresses.push_back(yaml_of(address));
      value = fmt::format("[{}]", fmt::join(addresses, ", "));
    } else {
      value = yaml_of(config_text(config, field));
    }
    out += fmt::format("# {}\n{}: {}\n", field.help, field.key, value);
  }
  return out;
}

}  // namespace perennial::perenniald
