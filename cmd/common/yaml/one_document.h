#pragma once

#include <optional>
#include <string>

// Files that people write hold one document of YAML each.
namespace perennial::common {

struct YamlProblem {
  int line = 0;  // Of the text, from 1.
  std::string what;
};

// Returns what is wrong, if the text has more than one document, is no YAML, or has something
// behind its document that is none. An empty text has no document and is right; YAML::Load() makes
// null of it.
//
// For texts from outside, in place of YAML::LoadAll(): that of yaml-cpp 0.7 never returns from a
// document that begins with a comma, and takes memory until there is no more.
std::optional<YamlProblem> not_one_document(const std::string& text);

}  // namespace perennial::common
