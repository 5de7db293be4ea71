#include "cmd/perennial/schedules/file/schedule_file.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "cmd/common/tool/command_words.h"
#include "cmd/common/yaml/one_document.h"
#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/arguments/body.h"
#include "cmd/perennial/output/text.h"
#include "cmd/perennial/schedules/schedule_request.h"

namespace perennial::tool {
namespace {

Status wrong_in_file(const std::string& path, const YAML::Mark& mark, std::string_view why) {
  if (mark.is_null()) return {StatusCode::InvalidArgument, fmt::format("{}: {}", path, why)};
  return {StatusCode::InvalidArgument, fmt::format("{}:{}: {}", path, mark.line + 1, why)};
}

std::vector<std::string> known_keys() {
  std::vector<std::string> keys = {"name", "body", "body_file", "priority"};
  keys.insert(keys.end(), schedule_value_names.begin(), schedule_value_names.end());
  return keys;
}

std::string no_such_key(const std::string& key, const std::vector<std::string>& known) {
  return fmt::format("there is no key '{}'{}", key, suggestion(key, known));
}

// One schedule of the file.
class FileEntry {
 public:
  // `zone`: of a cron expression that says none; empty: UTC.
  FileEntry(const std::string& path, const std::string& zone) : path_(path), zone_(zone) {}

  Result<WantedSchedule> read(const YAML::Node& node) {
    if (!node.IsMap())
      return wrong_in_file(path_, node.Mark(), "a schedule is keys with values, such as 'name: x'");
    if (Status found = find_name(node); !found.ok()) return found;
    ScheduleRequest request(name_);
    std::set<std::string> seen;
    for (const auto& pair : node) {
      const std::string& key = pair.first.Scalar();
      if (!seen.insert(value_name(key)).second)
        return wrong(pair.first.Mark(), key + ": is there twice");
      Status set = set_key(request, pair.first, pair.second);
      if (set.ok()) continue;
      // A comma ends a value there.
      const bool is_cut = node.Style() == YAML::EmitterStyle::Flow && seen.contains("cron");
      return is_cut ? Status(set.code(), set.message() + in_braces) : set;
    }
    const bool has_zone = seen.contains("zone") || !seen.contains("cron") || zone_.empty();
    if (!has_zone) ignore(request.set("zone", zone_), "it was looked at with the file");
    const int kinds =
        int{seen.contains("every")} + int{seen.contains("cron")} + int{seen.contains("at")};
    if (kinds > 1) return wrong(node.Mark(), "say once when: of every, cron and at it has several");
    if (Status checked = request.check(""); !checked.ok())
      return wrong(node.Mark(), checked.message());
    if (seen.contains("body") && seen.contains("body_file"))
      return wrong(node.Mark(), "it has two bodies: body and body_file");
    if (!seen.contains("body") && !seen.contains("body_file"))
      return wrong(node.Mark(), "it needs a body: one of body and body_file");
    return WantedSchedule{
        .command = request.command(), .needed = request.needed(), .body = std::move(body_)};
  }

 private:
  // The file may say the whole word.
  static std::string value_name(const std::string& key) { return key == "priority" ? "pri" : key; }

  // It is in the messages about the other keys.
  Status find_name(const YAML::Node& node) {
    std::optional<YAML::Node> name;
    for (const auto& pair : node) {
      if (pair.first.IsScalar() && pair.first.Scalar() == "name") name = pair.second;
    }
    if (!name) return wrong_in_file(path_, node.Mark(), "a schedule has no key 'name'");
    if (!name->IsScalar()) return wrong_in_file(path_, name->Mark(), "name: it is not one value");
    name_ = name->Scalar();
    const Status checked = check_schedule_name(name_);
    if (checked.ok()) return {};
    return wrong_in_file(path_, name->Mark(), "name: " + checked.message());
  }

  Status set_key(ScheduleRequest& request, const YAML::Node& key, const YAML::Node& value) {
    static const std::vector<std::string> known = known_keys();
    const std::string& name = key.Scalar();
    if (!key.IsScalar() || std::ranges::find(known, name) == known.end())
      return wrong(key.Mark(), no_such_key(name, known));
    if (value.IsNull()) return wrong(key.Mark(), name + ": it has no value");
    if (!value.IsScalar()) return wrong(value.Mark(), name + ": it is not one value");
    if (name == "name") return {};
    if (name == "body") return set_body(value);
    if (name == "body_file") return read_body_file(value);
    const Status set = request.set(value_name(name), text_of_value(name, value));
    return set.ok() ? Status() : wrong(value.Mark(), fmt::format("{}: {}", name, set.message()));
  }

  // YAML's own words for yes and no.
  static std::string text_of_value(std::string_view name, const YAML::Node& value) {
    bool answer = false;
    if (name == "paused" && YAML::convert<bool>::decode(value, answer))
      return answer ? "yes" : "no";
    return value.Scalar();
  }

  Status set_body(const YAML::Node& value) {
    body_ = value.Scalar();
    if (value.Tag() != "tag:yaml.org,2002:binary") return check_body_size(value.Mark(), "body");
    std::string base64 = value.Scalar();
    std::erase_if(base64, [](char c) { return c == '\n' || c == ' '; });
    if (!from_base64(base64, body_)) return wrong(value.Mark(), "body: it is no base64");
    return check_body_size(value.Mark(), "body");
  }

  Status read_body_file(const YAML::Node& value) {
    const std::string path = (std::filesystem::path(path_).parent_path() / value.Scalar()).string();
    Result<std::string> read = read_body(GivenBody{.file = path});
    if (!read.ok()) return wrong(value.Mark(), "body_file: " + read.status().message());
    body_ = read.take();
    return check_body_size(value.Mark(), "body_file");
  }

  Status check_body_size(const YAML::Mark& mark, std::string_view key) const {
    if (body_.size() <= UINT32_MAX) return {};
    return wrong(mark, fmt::format("{}: it has more than 4 GiB, and no server takes it", key));
  }

  Status wrong(const YAML::Mark& mark, std::string_view why) const {
    return wrong_in_file(path_, mark, fmt::format("{}: {}", name_, why));
  }

  static constexpr const char* in_braces = "; in {} an expression with a comma needs quotes";

  const std::string& path_;
  const std::string& zone_;
  std::string name_;
  std::string body_;
};

// The keys beside the schedules, and these.
class FileReader {
 public:
  explicit FileReader(const std::string& path) : path_(path) {}

  Result<ScheduleFile> read(const YAML::Node& document) {
    if (document.IsNull() && document.Mark().is_null())
      return wrong_in_file(path_, document.Mark(), "the file is empty");
    if (Status keys = read_keys(document); !keys.ok()) return keys;
    for (const YAML::Node& node : *list_) {
      if (Status added = add(node); !added.ok()) return added;
    }
    return std::move(file_);
  }

 private:
  Status read_keys(const YAML::Node& document) {
    static const std::vector<std::string> known = {"schedules", "tubes", "zone"};
    if (!document.IsMap())
      return wrong_in_file(path_, document.Mark(), "there is no key 'schedules'");
    std::set<std::string> seen;
    for (const auto& pair : document) {
      const std::string& key = pair.first.Scalar();
      if (std::ranges::find(known, key) == known.end())
        return wrong_in_file(path_, pair.first.Mark(), no_such_key(key, known));
      if (!seen.insert(key).second)
        return wrong_in_file(path_, pair.first.Mark(), key + ": is there twice");
      Status read = key == "zone"    ? read_zone(pair.second)
                    : key == "tubes" ? read_tubes(pair.second)
                                     : read_list(pair.second);
      if (!read.ok()) return read;
    }
    if (list_) return {};
    return wrong_in_file(path_, document.Mark(), "there is no key 'schedules'");
  }
  Status read_list(const YAML::Node& value) {
    if (!value.IsSequence()) {
      return wrong_in_file(path_, value.Mark(),
                           "schedules: it is not a list; '[]' is an empty one");
    }
    list_ = value;
    return {};
  }
  Status read_zone(const YAML::Node& value) {
    if (!value.IsScalar()) return wrong_in_file(path_, value.Mark(), "zone: it is not one value");
    zone_ = value.Scalar();
    const Status known = ScheduleRequest("of-the-file").set("zone", zone_);
    return known.ok() ? Status() : wrong_in_file(path_, value.Mark(), "zone: " + known.message());
  }
  Status read_tubes(const YAML::Node& value) {
    if (!value.IsSequence())
      return wrong_in_file(path_, value.Mark(), "tubes: it is not a list of tubes");
    for (const YAML::Node& tube : value) {
      const std::string name = tube.IsScalar() ? tube.Scalar() : "";
      if (Status checked = check_tube_name(name); !checked.ok())
        return wrong_in_file(path_, tube.Mark(), "tubes: " + checked.message());
      file_.tubes.insert(name);
    }
    return {};
  }
  Status add(const YAML::Node& node) {
    Result<WantedSchedule> wanted = FileEntry(path_, zone_).read(node);
    if (!wanted.ok()) return wanted.take_status();
    const std::string& name = wanted->command.name;
    const auto [first, is_new] = lines_.emplace(name, node.Mark().line + 1);
    if (!is_new) {
      return wrong_in_file(
          path_, node.Mark(),
          fmt::format("{}: it is there twice, in line {} already", name, first->second));
    }
    file_.tubes.insert(wanted->command.options->tube);
    file_.schedules.push_back(wanted.take());
    return {};
  }

  const std::string& path_;
  std::optional<YAML::Node> list_;
  std::string zone_;
  std::map<std::string, int> lines_;
  ScheduleFile file_;
};

// What stands behind the message of YAML's parser, which does not know what was meant.
std::string_view hint_for(std::string_view message) {
  const bool is_about_start = message.find("alias") != std::string_view::npos ||
                              message.find("anchor") != std::string_view::npos ||
                              message.find("unknown token") != std::string_view::npos;
  return is_about_start ? "; an expression that begins with '*' or '@' needs quotes" : "";
}

// The values of a schedule of which only the times are said.
ScheduleValues usual_values() {
  ScheduleRequest request("usual");
  ignore(request.set("every", "1"), "it is a period");
  return values_of(request.command());
}

bool is_usual(const ScheduleValues& usual, std::string_view name, const std::string& value) {
  constexpr std::string_view times[] = {"every", "anchor", "cron", "zone", "at"};
  if (std::ranges::find(times, name) != std::end(times)) return false;
  if (name == "paused") return value == "false";
  return std::ranges::find(usual, ScheduleValues::value_type(name, value)) != usual.end();
}

// Whether YAML reads the text back as it is: not all bytes are text.
bool reads_back(const std::string& text) {
  YAML::Emitter out;
  out << YAML::DoubleQuoted << text;
  try {
    return out.good() && YAML::Load(out.c_str()).Scalar() == text;
  } catch (const YAML::Exception&) {
    return false;
  }
}

void write_body(YAML::Emitter& out, const std::string& body) {
  out << YAML::Key << "body" << YAML::Value;
  if (reads_back(body)) {
    out << YAML::DoubleQuoted << body;
  } else {
    out << YAML::Binary(reinterpret_cast<const unsigned char*>(body.data()), body.size());
  }
}

void write_schedule(YAML::Emitter& out, const ToldSchedule& told, const ScheduleValues& usual) {
  out << YAML::BeginMap;
  out << YAML::Key << "name" << YAML::Value << std::string(told.stats.text("name").value_or(""));
  for (const std::string_view name : schedule_value_names) {
    const std::optional<std::string> value = told_value(told.stats, name);
    if (!value || value->empty() || is_usual(usual, name, *value)) continue;
    out << YAML::Key << (name == "pri" ? "priority" : std::string(name)) << YAML::Value << *value;
  }
  write_body(out, told.body);
  out << YAML::EndMap;
}

}  // namespace

Result<ScheduleFile> read_schedule_file(const std::string& given) {
  const bool is_standard_input = given == "-";
  const std::string path = is_standard_input ? "standard input" : given;
  // Nothing else says why it cannot be opened.
  const Result<std::string> text =
      read_body(is_standard_input ? GivenBody{.argument = {"-"}} : GivenBody{.file = path});
  if (!text.ok()) return Status(StatusCode::InvalidArgument, text.status().message());
  if (const auto wrong = common::not_one_document(*text); wrong) {
    return Status(StatusCode::InvalidArgument, fmt::format("{}:{}: {}{}", path, wrong->line,
                                                           wrong->what, hint_for(wrong->what)));
  }
  try {
    return FileReader(path).read(YAML::Load(*text));
  } catch (const YAML::Exception& error) {
    return wrong_in_file(path, error.mark, error.msg);
  }
}

std::string schedule_file_text(const std::vector<ToldSchedule>& schedules) {
  const ScheduleValues usual = usual_values();
  YAML::Emitter out;
  out << YAML::BeginMap << YAML::Key << "schedules" << YAML::Value << YAML::BeginSeq;
  for (const ToldSchedule& told : schedules) write_schedule(out, told, usual);
  out << YAML::EndSeq << YAML::EndMap;
  return std::string(out.c_str()) + '\n';
}

}  // namespace perennial::tool
