#include "cmd/perennial/schedules/apply/schedule_file.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "cmd/common/tool/command_words.h"
#include "cmd/perennial/arguments/body.h"
#include "cmd/perennial/schedules/schedule_request.h"

namespace perennial::tool {
namespace {

Status wrong_in_file(const std::string& path, const YAML::Mark& mark, std::string_view why) {
  if (mark.is_null()) return {StatusCode::InvalidArgument, fmt::format("{}: {}", path, why)};
  return {StatusCode::InvalidArgument, fmt::format("{}:{}: {}", path, mark.line + 1, why)};
}

std::vector<std::string> known_keys() {
  std::vector<std::string> keys = {"name", "body", "body_file"};
  keys.insert(keys.end(), schedule_value_names.begin(), schedule_value_names.end());
  return keys;
}

std::string no_such_key(const std::string& key, const std::vector<std::string>& known) {
  // As 'perennial put' has it.
  if (key == "priority") return "there is no key 'priority': it is 'pri'";
  return fmt::format("there is no key '{}'{}", key, suggestion(key, known));
}

// One schedule of the file.
class FileEntry {
 public:
  explicit FileEntry(const std::string& path) : path_(path) {}

  Result<WantedSchedule> read(const YAML::Node& node) {
    if (!node.IsMap())
      return wrong_in_file(path_, node.Mark(), "a schedule is keys with values, such as 'name: x'");
    if (Status found = find_name(node); !found.ok()) return found;
    ScheduleRequest request(name_);
    std::set<std::string> seen;
    for (const auto& pair : node) {
      const std::string& key = pair.first.Scalar();
      if (!seen.insert(key).second) return wrong(pair.first.Mark(), key + ": is there twice");
      if (Status set = set_key(request, pair.first, pair.second); !set.ok()) return set;
    }
    if (Status checked = request.check(""); !checked.ok())
      return wrong(node.Mark(), checked.message());
    if (seen.contains("body") == seen.contains("body_file"))
      return wrong(node.Mark(), "it needs a body: one of body and body_file");
    return WantedSchedule{
        .command = request.command(), .needed = request.needed(), .body = std::move(body_)};
  }

 private:
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
    if (name == "body") {
      body_ = value.Scalar();
      return check_body_size(value.Mark(), name);
    }
    if (name == "body_file") return read_body_file(value);
    const Status set = request.set(name, text_of_value(name, value));
    return set.ok() ? Status() : wrong(value.Mark(), fmt::format("{}: {}", name, set.message()));
  }

  // YAML's own words for yes and no.
  static std::string text_of_value(std::string_view name, const YAML::Node& value) {
    bool answer = false;
    if (name == "paused" && YAML::convert<bool>::decode(value, answer))
      return answer ? "yes" : "no";
    return value.Scalar();
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

  const std::string& path_;
  std::string name_;
  std::string body_;
};

// The list below the only key of the file.
Result<YAML::Node> find_list(const std::string& path, const YAML::Node& document) {
  if (!document.IsMap()) return wrong_in_file(path, document.Mark(), "there is no key 'schedules'");
  std::optional<YAML::Node> list;
  for (const auto& pair : document) {
    const std::string& key = pair.first.Scalar();
    if (key != "schedules")
      return wrong_in_file(path, pair.first.Mark(), no_such_key(key, {"schedules"}));
    if (list) return wrong_in_file(path, pair.first.Mark(), "schedules: is there twice");
    list = pair.second;
  }
  if (!list) return wrong_in_file(path, document.Mark(), "there is no key 'schedules'");
  if (!list->IsSequence())
    return wrong_in_file(path, list->Mark(), "schedules: it is not a list; '[]' is an empty one");
  return *list;
}

Result<std::vector<WantedSchedule>> read_documents(const std::string& path,
                                                   const std::vector<YAML::Node>& documents) {
  if (documents.empty()) return wrong_in_file(path, YAML::Mark::null_mark(), "the file is empty");
  if (documents.size() > 1)
    return wrong_in_file(path, documents[1].Mark(), "a second document begins here");
  const Result<YAML::Node> list = find_list(path, documents.front());
  if (!list.ok()) return list.status();
  std::vector<WantedSchedule> all;
  std::map<std::string, int> lines;
  for (const YAML::Node& node : *list) {
    Result<WantedSchedule> wanted = FileEntry(path).read(node);
    if (!wanted.ok()) return wanted.take_status();
    const std::string& name = wanted->command.name;
    const auto [first, is_new] = lines.emplace(name, node.Mark().line + 1);
    if (!is_new) {
      return wrong_in_file(
          path, node.Mark(),
          fmt::format("{}: it is there twice, in line {} already", name, first->second));
    }
    all.push_back(wanted.take());
  }
  return all;
}

// What stands behind the message of YAML's parser, which does not know what was meant.
std::string_view hint_for(std::string_view message) {
  const bool is_about_start = message.find("alias") != std::string_view::npos ||
                              message.find("unknown token") != std::string_view::npos;
  return is_about_start ? "; an expression that begins with '*' or '@' needs quotes" : "";
}

}  // namespace

Result<std::vector<WantedSchedule>> read_schedule_file(const std::string& path) {
  // Nothing else says why it cannot be opened.
  const Result<std::string> text = read_body(GivenBody{.file = path});
  if (!text.ok()) return Status(StatusCode::InvalidArgument, text.status().message());
  try {
    return read_documents(path, YAML::LoadAll(*text));
  } catch (const YAML::Exception& error) {
    return wrong_in_file(path, error.mark, fmt::format("{}{}", error.msg, hint_for(error.msg)));
  }
}

}  // namespace perennial::tool
