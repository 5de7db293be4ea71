#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "engine/types/status.h"

// The body of a job on a command line: an argument, a file, or standard input.
namespace perennial::tool {

struct GivenBody {
  std::vector<std::string> argument = {};  // At most one element; "-" is standard input.
  std::string file = {};                   // Instead of `argument`.

  bool is_standard_input() const {
    return file.empty() && (argument.empty() || argument.front() == "-");
  }
};

// InvalidArgument: there is none, or more than one.
Status check_body(const GivenBody& source);
// Io: there is no such file, or it cannot be read.
Result<std::ifstream> open_body_file(const std::string& path);
// All its bytes as they are. Io: they could not be read to their end.
Result<std::string> read_body(const GivenBody& source);

}  // namespace perennial::tool
