#include "cmd/perennial/arguments/body.h"

#include <cerrno>
#include <cstring>
#include <iostream>
#include <iterator>

#include <fmt/format.h>
#include <unistd.h>

namespace perennial::tool {
namespace {

Result<std::string> read_stream(std::istream& input) {
  std::string body{std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
  if (input.bad()) return Status(StatusCode::Io, "the body could not be read to its end");
  return body;
}

}  // namespace

Status check_body(const GivenBody& source) {
  if (source.argument.size() > 1)
    return {StatusCode::InvalidArgument, "more than one body: one with spaces needs quotes"};
  if (!source.argument.empty() && !source.file.empty())
    return {StatusCode::InvalidArgument, "a body and --file exclude each other"};
  if (source.argument.empty() && source.file.empty() && ::isatty(STDIN_FILENO) == 1) {
    return {StatusCode::InvalidArgument,
            "no body: give it as an argument, with --file, or on standard input"};
  }
  return {};
}

Result<std::ifstream> open_body_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  // A directory can be opened, but reading it fails.
  if (!file || (file.peek() == EOF && file.bad()))
    return Status(StatusCode::Io, fmt::format("{}: {}", path, std::strerror(errno)));
  file.clear();
  return file;
}

Result<std::string> read_body(const GivenBody& source) {
  if (!source.file.empty()) {
    Result<std::ifstream> file = open_body_file(source.file);
    if (!file.ok()) return file.take_status();
    return read_stream(*file);
  }
  if (!source.is_standard_input()) return source.argument.front();
  std::ios::sync_with_stdio(false);
  return read_stream(std::cin);
}

}  // namespace perennial::tool
