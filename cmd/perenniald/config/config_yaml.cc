#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/config/tube_defaults.h"

// The only file that includes yaml-cpp. Its exceptions are caught here.
namespace perennial::perenniald {
namespace {

struct Reader {
  Config& config;
  std::string_view name;
  Problems problems;
  std::set<std::string_view> seen;  // Keys of fields that were read.

  void problem(const YAML::Mark& mark, std::string_view what) {
    problems.push_back(fmt::format("{}:{}: {}", name, mark.line + 1, what));
  }
  void read(const YAML::Node& root);
  void read_key(const YAML::Node& key, const YAML::Node& value);
  // `item`: what the list is one of: "a pattern".
  void read_list(const ConfigField& field, const YAML::Node& value, std::string_view item);
  void read_tube_groups(const ConfigField& field, const YAML::Node& value);
  void read_listeners(const ConfigField& field, const YAML::Node& value);
  void read_listener(const YAML::Node& value);
  void read_pairs(const YAML::Node& map, const std::string& prefix, ListenerPairs& out);
  void read_users(std::string_view key, const YAML::Node& value, std::vector<core::User>& out);
  core::User read_user(const YAML::Node& value);
  core::Grant read_grant(const YAML::Node& value);
  void read_lists(const YAML::Node& map, std::string_view what, UserPairs& out);
  void read_extensions(const ConfigField& field, const YAML::Node& value);
  void read_tubes(const ConfigField& field, const YAML::Node& value);
  void read_tube(const YAML::Node& pattern, const YAML::Node& settings);
  void read_cluster(const ConfigField& field, const YAML::Node& value);
  void read_cluster_map(const YAML::Node& map, const std::string& prefix);
  void read_cluster_value(const std::string& key, const YAML::Node& value);
  void set(const ConfigField& field, const YAML::Node& value);
};

// Whether the file makes the server a node of a cluster.
bool has_cluster_section(const YAML::Node& root) {
  for (const auto& entry : root) {
    if (!entry.first.IsScalar() || entry.first.Scalar() != "cluster") continue;
    return entry.second.IsMap() && entry.second.size() > 0;
  }
  return false;
}

void Reader::read(const YAML::Node& root) {
  if (root.IsNull()) return;  // A file that holds comments only.
  if (!root.IsMap()) return problem(root.Mark(), "expected lines of the form 'key: value'");
  if (has_cluster_section(root)) {
    config.batch_bytes_max = std::min(config.batch_bytes_max, cluster_batch_bytes_max);
  }
  for (const auto& entry : root) read_key(entry.first, entry.second);
}

void Reader::read_key(const YAML::Node& key, const YAML::Node& value) {
  if (!key.IsScalar()) return problem(key.Mark(), "expected the name of a setting");
  const std::string& text = key.Scalar();
  for (const ConfigField& field : config_fields()) {
    if (field.key != text && (field.former_key.empty() || field.former_key != text)) continue;
    if (!seen.insert(field.key).second) {
      return problem(key.Mark(), fmt::format("{}: set twice", text));
    }
    if (field.unit == ConfigUnit::Addresses) return read_list(field, value, "an address");
    if (field.unit == ConfigUnit::Proxies) return read_list(field, value, "an address");
    if (field.unit == ConfigUnit::Patterns) return read_list(field, value, "a pattern");
    if (field.unit == ConfigUnit::Groups) return read_tube_groups(field, value);
    if (field.unit == ConfigUnit::Listeners) return read_listeners(field, value);
    if (field.unit == ConfigUnit::Users) return read_users(field.key, value, config.users);
    if (field.unit == ConfigUnit::Extensions) return read_extensions(field, value);
    if (field.unit == ConfigUnit::Tubes) return read_tubes(field, value);
    if (field.unit == ConfigUnit::Cluster) return read_cluster(field, value);
    return set(field, value);
  }
  problem(key.Mark(), fmt::format("{}: there is no such setting (--print-config shows all)", text));
}

void Reader::read_list(const ConfigField& field, const YAML::Node& value, std::string_view item) {
  (config.*std::get<std::vector<std::string> Config::*>(field.member)).clear();
  if (value.IsNull()) return;
  if (value.IsScalar()) return set(field, value);
  if (!value.IsSequence()) {
    return problem(value.Mark(), fmt::format("{}: expected {} or a list of them", field.key, item));
  }
  for (const YAML::Node& element : value) set(field, element);
}

void Reader::read_tube_groups(const ConfigField& field, const YAML::Node& value) {
  TubeGroups& groups = config.*std::get<TubeGroups Config::*>(field.member);
  groups.clear();
  if (value.IsNull()) return;
  if (!value.IsMap()) {
    return problem(value.Mark(),
                   fmt::format("{}: expected lines of the form 'mail-*: mail'", field.key));
  }
  for (const auto& entry : value) {
    const YAML::Node& pattern = entry.first;
    const YAML::Node& group = entry.second;
    if (!pattern.IsScalar() || !group.IsScalar()) {
      problem(pattern.Mark(), fmt::format("{}: expected a pattern and a name", field.key));
      continue;
    }
    const bool is_known =
        std::ranges::find(groups, pattern.Scalar(), &TubeGroups::value_type::first) != groups.end();
    if (is_known) {
      problem(pattern.Mark(), fmt::format("{}: {}: set twice", field.key, pattern.Scalar()));
      continue;
    }
    const Status status = add_tube_group(groups, pattern.Scalar(), group.Scalar());
    if (!status.ok()) problem(pattern.Mark(), fmt::format("{}: {}", field.key, status.message()));
  }
}

void Reader::read_listeners(const ConfigField& field, const YAML::Node& value) {
  if (value.IsNull()) return;
  if (!value.IsSequence()) {
    return problem(value.Mark(),
                   fmt::format("{}: expected a list of {{address: ..., tls: {{...}}}}", field.key));
  }
  for (const YAML::Node& listener : value) read_listener(listener);
}

void Reader::read_listener(const YAML::Node& value) {
  if (!value.IsMap()) {
    return problem(value.Mark(), "listeners: expected {address: ..., tls: {...}}");
  }
  const size_t before = problems.size();
  ListenerPairs pairs;
  read_pairs(value, "", pairs);
  if (problems.size() > before) return;
  ListenerConfig listener;
  for (const std::string& what : parse_listener(pairs, config.port, listener)) {
    problem(value.Mark(), "listeners: " + what);
  }
  config.listeners.push_back(std::move(listener));
}

// The values of a map, with those of the map `tls` in it.
void Reader::read_pairs(const YAML::Node& map, const std::string& prefix, ListenerPairs& out) {
  for (const auto& entry : map) {
    const std::string key = entry.first.IsScalar() ? prefix + entry.first.Scalar() : prefix;
    if (key == "tls" && entry.second.IsMap() && entry.second.size() > 0) {
      read_pairs(entry.second, "tls.", out);
    } else if (!entry.first.IsScalar() || !entry.second.IsScalar() || key == "tls") {
      problem(entry.first.Mark(), key == "tls"
                                      ? "listeners: tls: expected {certificate: ..., key: ...}"
                                      : fmt::format("listeners: {}: expected one value", key));
    } else if (std::ranges::find(out, key, &ListenerPairs::value_type::first) != out.end()) {
      problem(entry.first.Mark(), fmt::format("listeners: {}: set twice", key));
    } else if (const Status text = check_text(entry.second.Scalar()); !text.ok()) {
      problem(entry.first.Mark(), fmt::format("listeners: {}: {}", key, text.message()));
    } else {
      out.emplace_back(key, entry.second.Scalar());
    }
  }
}

void Reader::read_users(std::string_view key, const YAML::Node& value,
                        std::vector<core::User>& out) {
  if (value.IsNull()) return;
  if (!value.IsSequence()) {
    return problem(
        value.Mark(),
        fmt::format("{}: expected a list of {{name: ..., tokens: [...], grants: [...]}}", key));
  }
  for (const YAML::Node& user : value) out.push_back(read_user(user));
}

core::User Reader::read_user(const YAML::Node& value) {
  core::User user;
  if (!value.IsMap()) {
    problem(value.Mark(), "users: expected {name: ..., tokens: [...], grants: [...]}");
    return user;
  }
  UserPairs pairs;
  const size_t before = problems.size();
  read_lists(value, "users", pairs);
  for (const auto& entry : value) {
    if (!entry.first.IsScalar() || entry.first.Scalar() != "grants") continue;
    if (!entry.second.IsSequence()) {
      problem(entry.first.Mark(), "users: grants: expected a list of {tubes: [...], verbs: [...]}");
      continue;
    }
    for (const YAML::Node& grant : entry.second) user.grants.push_back(read_grant(grant));
  }
  if (problems.size() > before) return user;
  for (const std::string& what : parse_user(pairs, user)) problem(value.Mark(), "users: " + what);
  return user;
}

core::Grant Reader::read_grant(const YAML::Node& value) {
  core::Grant grant;
  if (!value.IsMap()) {
    problem(value.Mark(), "users: grants: expected {tubes: [...], verbs: [...]}");
    return grant;
  }
  GrantPairs pairs;
  const size_t before = problems.size();
  read_lists(value, "users: grants", pairs);
  if (problems.size() > before) return grant;
  for (const std::string& what : parse_grant(pairs, grant)) {
    problem(value.Mark(), "users: grants: " + what);
  }
  return grant;
}

// The values of a map of lists. A single value counts as a list of one. `grants` is left out.
void Reader::read_lists(const YAML::Node& map, std::string_view what, UserPairs& out) {
  std::set<std::string> keys;
  for (const auto& entry : map) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : std::string();
    const auto add = [&](const YAML::Node& value) {
      if (!value.IsScalar()) {
        problem(entry.first.Mark(), fmt::format("{}: {}: expected a list of words", what, key));
      } else if (const Status text = check_text(value.Scalar()); !text.ok()) {
        problem(entry.first.Mark(), fmt::format("{}: {}: {}", what, key, text.message()));
      } else {
        out.emplace_back(key, value.Scalar());
      }
    };
    if (!keys.insert(key).second) {
      problem(entry.first.Mark(), fmt::format("{}: {}: set twice", what, key));
    } else if (key == "grants") {
      continue;
    } else if (entry.second.IsSequence()) {
      for (const YAML::Node& value : entry.second) add(value);
    } else {
      add(entry.second);
    }
  }
}

// A list allows the extensions that it names and the probe, also when it is empty. The words `all`
// and `none` may only stand alone.
void Reader::read_extensions(const ConfigField& field, const YAML::Node& value) {
  if (!value.IsSequence()) {
    if (value.IsScalar() && extension_named(value.Scalar())) {
      config.extensions = ExtensionSet::probe();
    }
    return set(field, value);
  }
  config.extensions = ExtensionSet::probe();
  for (const YAML::Node& entry : value) {
    if (entry.IsScalar() && (entry.Scalar() == "all" || entry.Scalar() == "none")) {
      problem(entry.Mark(),
              fmt::format("{}: '{}' stands alone, not in a list", field.key, entry.Scalar()));
    } else {
      set(field, entry);
    }
  }
}

// "mail-*: {tries: 5, backoff: 10:600}": the options of set-tube, for one name or for all names
// that begin so.
void Reader::read_tubes(const ConfigField& field, const YAML::Node& value) {
  if (value.IsNull()) return;
  if (!value.IsMap()) {
    return problem(value.Mark(),
                   fmt::format("{}: expected lines of the form 'tube: {{tries: 3}}'", field.key));
  }
  for (const auto& entry : value) read_tube(entry.first, entry.second);
}

void Reader::read_tube(const YAML::Node& pattern, const YAML::Node& settings) {
  if (!pattern.IsScalar() || !settings.IsMap()) {
    return problem(pattern.Mark(), "tubes: expected a name and settings, as in 'mail: {tries: 3}'");
  }
  const std::string& tube = pattern.Scalar();
  const bool is_known =
      std::ranges::find(config.tubes, tube, &TubeDefaults::pattern) != config.tubes.end();
  if (is_known) return problem(pattern.Mark(), fmt::format("tubes: {}: set twice", tube));
  std::string options;
  for (const auto& entry : settings) {
    if (!entry.first.IsScalar() || !entry.second.IsScalar()) {
      return problem(entry.first.Mark(), fmt::format("tubes: {}: expected one value", tube));
    }
    options += fmt::format(" {}:{}", entry.first.Scalar(), entry.second.Scalar());
  }
  Result<TubeDefaults> parsed = parse_tube_defaults(tube, options);
  if (!parsed.ok()) {
    return problem(pattern.Mark(), fmt::format("tubes: {}: {}", tube, parsed.status().message()));
  }
  config.tubes.push_back(parsed.take());
}

void Reader::read_cluster(const ConfigField& field, const YAML::Node& value) {
  config.cluster = {};
  if (value.IsNull() || (value.IsMap() && value.size() == 0)) return;
  if (!value.IsMap()) return set(field, value);
  if (const std::string what = check_cluster_is_built(cluster_is_built()); !what.empty()) {
    return problem(value.Mark(), "cluster: " + what);
  }
  const size_t before = problems.size();
  read_cluster_map(value, "");
  if (problems.size() > before) return;
  for (const std::string& what : check_cluster(config.cluster)) {
    problem(value.Mark(), "cluster: " + what);
  }
}

// `prefix`: of the keys of a map in the section.
void Reader::read_cluster_map(const YAML::Node& map, const std::string& prefix) {
  constexpr std::string_view tls = "etcd_tls";
  std::set<std::string> keys;
  for (const auto& entry : map) {
    const YAML::Node& setting = entry.first;
    const YAML::Node& value = entry.second;
    if (!setting.IsScalar()) {
      problem(setting.Mark(), "cluster: expected the name of a setting");
      continue;
    }
    const std::string key = prefix + setting.Scalar();
    if (!keys.insert(key).second) {
      problem(setting.Mark(), fmt::format("cluster: {}: set twice", key));
    } else if (key == tls && value.IsMap() && value.size() > 0) {
      read_cluster_map(value, "etcd_tls.");
    } else if (key == tls) {
      problem(setting.Mark(), "cluster: etcd_tls: expected {ca: ..., certificate: ..., key: ...}");
    } else if (!is_cluster_key(key)) {
      problem(setting.Mark(),
              fmt::format("cluster: {}: there is no such setting: {}", key, cluster_keys()));
    } else if (key == "etcd" && value.IsSequence()) {
      for (const YAML::Node& endpoint : value) read_cluster_value(key, endpoint);
    } else {
      read_cluster_value(key, value);
    }
  }
}

void Reader::read_cluster_value(const std::string& key, const YAML::Node& value) {
  if (!value.IsScalar()) {
    return problem(value.Mark(), fmt::format("cluster: {}: expected one value", key));
  }
  const Status text = check_text(value.Scalar());
  const std::string what =
      text.ok() ? set_cluster(config.cluster, key, value.Scalar()) : text.message();
  if (!what.empty()) problem(value.Mark(), fmt::format("cluster: {}: {}", key, what));
}

void Reader::set(const ConfigField& field, const YAML::Node& value) {
  if (!value.IsScalar()) {
    return problem(value.Mark(), fmt::format("{}: expected one value", field.key));
  }
  const Status status = set_config(config, field, value.Scalar());
  if (!status.ok()) problem(value.Mark(), fmt::format("{}: {}", field.key, status.message()));
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

// {address: "a", tls: {certificate: "b", key: "c"}}. All values have quotes, because inside of maps
// more texts need them.
std::string yaml_of(const ListenerConfig& listener) {
  constexpr std::string_view in_tls = "tls.";
  std::vector<std::string> entries;
  std::vector<std::string> tls;
  for (const auto& [key, value] : listener_pairs(listener)) {
    const bool is_tls = key.starts_with(in_tls);
    const std::string_view name = std::string_view(key).substr(is_tls ? in_tls.size() : 0);
    (is_tls ? tls : entries).push_back(fmt::format("{}: {}", name, quoted_yaml_of(value)));
  }
  if (!tls.empty()) entries.push_back(fmt::format("tls: {{{}}}", fmt::join(tls, ", ")));
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

// {name: "a", tokens: ["b", "c"]}, with `more` behind it.
std::string yaml_of(const UserPairs& pairs, const std::string& more) {
  std::vector<std::string> entries;
  for (size_t i = 0; i < pairs.size();) {
    const std::string& key = pairs[i].first;
    std::vector<std::string> values;
    for (; i < pairs.size() && pairs[i].first == key; ++i) {
      values.push_back(quoted_yaml_of(pairs[i].second));
    }
    const bool is_one = key == "name";
    entries.push_back(is_one ? fmt::format("{}: {}", key, values[0])
                             : fmt::format("{}: [{}]", key, fmt::join(values, ", ")));
  }
  if (!more.empty()) entries.push_back(more);
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

std::string yaml_of(const core::User& user) {
  std::vector<std::string> grants;
  for (const core::Grant& grant : user.grants) grants.push_back(yaml_of(grant_pairs(grant), ""));
  return yaml_of(user_pairs(user), fmt::format("grants: [{}]", fmt::join(grants, ", ")));
}

}  // namespace

namespace {

// Reads the one document of a text.
template <typename Read>
Problems read_document(Reader& reader, std::string_view yaml, Read read) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(yaml));
    if (documents.size() > 1) {
      reader.problem(documents[1].Mark(), "a second document ('---'): there may be only one");
    } else if (!documents.empty()) {
      read(documents[0]);
    }
  } catch (const YAML::Exception& error) {
    reader.problem(error.mark, error.msg);
  }
  return std::move(reader.problems);
}

}  // namespace

Problems read_config(Config& config, std::string_view yaml, std::string_view name) {
  Reader reader{config, name, {}, {}};
  return read_document(reader, yaml, [&](const YAML::Node& root) { reader.read(root); });
}

Problems read_users(std::vector<core::User>& users, std::string_view yaml, std::string_view name) {
  Config unused = {};
  Reader reader{unused, name, {}, {}};
  return read_document(reader, yaml,
                       [&](const YAML::Node& root) { reader.read_users("users", root, users); });
}

std::string listeners_text(const std::vector<ListenerConfig>& listeners) {
  std::vector<std::string> texts;
  for (const ListenerConfig& listener : listeners) texts.push_back(yaml_of(listener));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string patterns_text(const std::vector<std::string>& patterns) {
  std::vector<std::string> texts;
  for (const std::string& pattern : patterns) texts.push_back(quoted_yaml_of(pattern));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string tube_groups_text(const TubeGroups& groups) {
  std::vector<std::string> texts;
  for (const auto& [pattern, name] : groups) {
    texts.push_back(fmt::format("{}: {}", quoted_yaml_of(pattern), quoted_yaml_of(name)));
  }
  return fmt::format("{{{}}}", fmt::join(texts, ", "));
}

std::string users_text(const std::vector<core::User>& users) {
  std::vector<std::string> texts;
  for (const core::User& user : users) texts.push_back(yaml_of(user));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

// All settings of the section, because the defaults of those that are left out count, too.
std::string cluster_text(const ClusterConfig& cluster) {
  if (!cluster.is_set()) return "{}";
  constexpr std::string_view in_tls = "etcd_tls.";
  std::vector<std::string> entries;
  std::vector<std::string> endpoints;
  std::vector<std::string> tls;
  const auto entry_of = [](std::string_view key, const std::string& value) {
    return fmt::format("{}: {}", key, value);
  };
  for (const ClusterPair& pair : cluster_pairs(cluster)) {
    const std::string value = pair.is_text ? quoted_yaml_of(pair.value) : pair.value;
    if (pair.key == "etcd") {
      endpoints.push_back(value);
    } else if (pair.key.starts_with(in_tls)) {
      tls.push_back(entry_of(std::string_view(pair.key).substr(in_tls.size()), value));
    } else {
      entries.push_back(entry_of(pair.key, value));
    }
  }
  if (!tls.empty()) entries.push_back(fmt::format("etcd_tls: {{{}}}", fmt::join(tls, ", ")));
  entries.push_back(fmt::format("etcd: [{}]", fmt::join(endpoints, ", ")));
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

bool fits_yaml(std::string_view text) {
  return reads_back(yaml_of(std::string(text)), text);
}

std::string print_config(const Config& config) {
  std::string out;
  for (const ConfigField& field : config_fields()) {
    std::string value;
    if (field.unit == ConfigUnit::Addresses || field.unit == ConfigUnit::Proxies) {
      std::vector<std::string> addresses;
      for (const std::string& address :
           config.*std::get<std::vector<std::string> Config::*>(field.member)) {
        addresses.push_back(yaml_of(address));
      }
      value = fmt::format("[{}]", fmt::join(addresses, ", "));
    } else if (field.unit == ConfigUnit::Listeners || field.unit == ConfigUnit::Users ||
               field.unit == ConfigUnit::Extensions || field.unit == ConfigUnit::Tubes ||
               field.unit == ConfigUnit::Patterns || field.unit == ConfigUnit::Groups ||
               field.unit == ConfigUnit::Cluster) {
      value = config_text(config, field);  // A word, or a list that is YAML already.
    } else {
      value = yaml_of(config_text(config, field));
    }
    out += fmt::format("# {}\n{}: {}\n", field.help, field.key, value);
  }
  return out;
}

}  // namespace perennial::perenniald
