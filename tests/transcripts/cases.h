#pragma once

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::transcripts {

// The files of this folder, by name.
inline std::vector<std::string> transcript_paths() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(TRANSCRIPTS_DIR)) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() != ".txt" || path.stem() == "CMakeLists") continue;
    paths.push_back(path.string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

inline std::string case_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = std::filesystem::path(info.param).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

}  // namespace perennial::transcripts
