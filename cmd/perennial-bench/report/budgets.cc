#include "cmd/perennial-bench/report/budgets.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "cmd/common/units.h"

// The only file of this program that uses yaml-cpp. Exceptions of the library are caught here.
namespace perennial::bench {
namespace {

// A key of a budget whose value is a word or text.
struct TextKey {
  std::string_view key;
  void (*set)(Budget&, std::string);
  bool required;
};

constexpr TextKey text_keys[] = {
    {"name", [](Budget& b, std::string text) { b.name = std::move(text); }, true},
    {"workload", [](Budget& b, std::string text) { b.workload = std::move(text); }, true},
    {"setting", [](Budget& b, std::string text) { b.setting = std::move(text); }, false},
    {"operation", [](Budget& b, std::string text) { b.operation = std::move(text); }, false},
    {"ours", [](Budget& b, std::string text) { b.ours = std::move(text); }, true},
    {"against", [](Budget& b, std::string text) { b.against = std::move(text); }, false},
    {"against_setting", [](Budget& b, std::string text) { b.against_setting = std::move(text); },
     false},
    {"measure", [](Budget& b, std::string text) { b.measure_name = std::move(text); }, true},
};

struct BoundKey {
  std::string_view key;
  Budget::Bound bound;
  bool of_ratio;
};

constexpr BoundKey bound_keys[] = {
    {"at_least", Budget::Bound::AtLeast, true},
    {"at_most", Budget::Bound::AtMost, true},
    {"at_least_value", Budget::Bound::AtLeast, false},
    {"at_most_value", Budget::Bound::AtMost, false},
};

// Reads a number, which may have a unit of bytes.
std::optional<double> read_number(const YAML::Node& value) {
  double number = 0;
  if (!YAML::convert<double>::decode(value, number)) {
    const Result<uint64_t> bytes = common::parse_bytes(value.Scalar());
    if (bytes.ok()) number = static_cast<double>(*bytes);
  }
  if (!std::isfinite(number) || number <= 0) return std::nullopt;
  return number;
}

struct Reader {
  const std::string& path;
  std::vector<Budget> budgets = {};
  std::string problems = {};
  std::set<std::string> names = {};

  // The budget that is being read.
  Budget budget = {};
  std::set<std::string> seen = {};
  const BoundKey* bound = nullptr;

  void problem(const YAML::Mark& mark, std::string_view what) {
    const std::string place = mark.is_null() ? path : fmt::format("{}:{}", path, mark.line + 1);
    problems += fmt::format("{}{}: {}", problems.empty() ? "" : "\n", place, what);
  }
  void read(const YAML::Node& root);
  void read_budget(const YAML::Node& node);
  void read_key(const YAML::Node& key, const YAML::Node& value);
  void read_bound(const BoundKey& key, const YAML::Node& value);
  void finish(const YAML::Mark& mark);
  void check_sides(const YAML::Mark& mark);
};

void Reader::read(const YAML::Node& root) {
  const bool one_list = root.IsMap() && root.size() == 1 && root["budgets"];
  if (!one_list || !root["budgets"].IsSequence())
    return problem(root.Mark(), "expected 'budgets:' and a list below it, and nothing else");
  for (const YAML::Node& node : root["budgets"]) read_budget(node);
  if (root["budgets"].size() == 0) problem(root.Mark(), "there is no budget in it");
}

void Reader::read_budget(const YAML::Node& node) {
  if (!node.IsMap()) return problem(node.Mark(), "expected a budget: '- name: ...' and its keys");
  budget = {};
  seen.clear();
  bound = nullptr;
  const size_t problems_before = problems.size();
  for (const auto& entry : node) read_key(entry.first, entry.second);
  finish(node.Mark());
  if (problems.size() == problems_before) budgets.push_back(std::move(budget));
}

void Reader::read_key(const YAML::Node& key, const YAML::Node& value) {
  if (!key.IsScalar()) return problem(key.Mark(), "expected the name of a key");
  const std::string& name = key.Scalar();
  if (!seen.insert(name).second) return problem(key.Mark(), fmt::format("{}: set twice", name));
  if (!value.IsScalar() || value.Scalar().empty())
    return problem(key.Mark(), fmt::format("{}: expected one value", name));
  for (const TextKey& text : text_keys)
    if (text.key == name) return text.set(budget, value.Scalar());
  for (const BoundKey& candidate : bound_keys)
    if (candidate.key == name) return read_bound(candidate, value);
  problem(key.Mark(), fmt::format("{}: a budget has no such key", name));
}

void Reader::read_bound(const BoundKey& key, const YAML::Node& value) {
  if (bound != nullptr)
    return problem(value.Mark(), fmt::format("{} beside {}: a budget has one bound, not two",
                                             key.key, bound->key));
  bound = &key;
  budget.bound = key.bound;
  const std::optional<double> limit = read_number(value);
  if (limit)
    budget.limit = *limit;
  else
    problem(value.Mark(), fmt::format("{}: {} is no number above zero", key.key, value.Scalar()));
}

// Checks what depends on several keys.
void Reader::finish(const YAML::Mark& mark) {
  for (const TextKey& text : text_keys)
    if (text.required && !seen.contains(std::string(text.key)))
      problem(mark, fmt::format("{}: missing", text.key));
  if (seen.contains("name") && !names.insert(budget.name).second)
    problem(mark, fmt::format("name: there is a budget {} already", budget.name));
  if (seen.contains("measure")) {
    const std::optional<Measure> measure = parse_measure(budget.measure_name);
    if (measure)
      budget.measure = *measure;
    else
      problem(mark,
              fmt::format("measure: {} is none; it is {}", budget.measure_name, measure_names()));
  }
  check_sides(mark);
}

// A ratio has a reference, a value has none.
void Reader::check_sides(const YAML::Mark& mark) {
  const bool both = seen.contains("against") && seen.contains("against_setting");
  const bool any = seen.contains("against") || seen.contains("against_setting");
  if (both) problem(mark, "against or against_setting: one of them, not both");
  if (seen.contains("against_setting") && !seen.contains("setting"))
    problem(mark, "against_setting: needs a setting to compare with");
  if (bound == nullptr)
    return problem(mark, "a bound is missing: at_least, at_most, at_least_value or at_most_value");
  if (bound->of_ratio && !any)
    problem(mark, fmt::format("{}: bounds a ratio; say against what, or use {}_value", bound->key,
                              bound->key));
  if (!bound->of_ratio && any)
    problem(mark, fmt::format("{}: bounds a value, which stands against nothing", bound->key));
}

}  // namespace

Result<std::vector<Budget>> read_budgets(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  std::error_code failed;  // Reading then reports the error.
  if (!file || std::filesystem::is_directory(path, failed))
    return Status(StatusCode::NotFound, path + ": cannot be read; is there such a file?");
  Reader reader = {.path = path};
  try {
    reader.read(YAML::Load(text.str()));
  } catch (const YAML::Exception& error) {
    reader.problem(error.mark, error.msg);
  }
  if (!reader.problems.empty()) return Status(StatusCode::InvalidArgument, reader.problems);
  return std::move(reader.budgets);
}

}  // namespace perennial::bench
