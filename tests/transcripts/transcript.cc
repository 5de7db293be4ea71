#include "tests/transcripts/transcript.h"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

namespace perennial::transcripts {
namespace {

using Kind = Line::Kind;

std::string strip_comment(const std::string& text) {
  if (text.starts_with("#")) return {};
  const size_t comment = text.find("  #");
  std::string line = text.substr(0, comment);
  while (comment != std::string::npos && line.ends_with(' ')) line.pop_back();
  return line;
}

// Returns the bytes of the escape at `at` and moves `at` behind it.
std::string unescape_one(const std::string& text, size_t& at) {
  if (text[at] == '{') {
    const size_t star = text.find('*', at);
    const size_t close = text.find('}', at);
    if (star != std::string::npos && close != std::string::npos && star == at + 2) {
      const int count = std::atoi(text.c_str() + star + 1);
      const char repeated = text[at + 1];
      at = close + 1;
      return std::string(static_cast<size_t>(count), repeated);
    }
  }
  if (text.compare(at, 3, " | ") == 0) {
    at += 3;
    return "\r\n";
  }
  if (text[at] != '\\' || at + 1 == text.size()) return {text[at++]};
  const char kind = text[at + 1];
  at += 2;
  switch (kind) {
    case 'n':
      return "\n";
    case 'r':
      return "\r";
    case '0':
      return std::string(1, '\0');
    case 'x':
      at += 2;
      return {static_cast<char>(std::stoi(text.substr(at - 2, 2), nullptr, 16))};
    default:
      return {kind};
  }
}

std::string unescape(const std::string& text) {
  std::string bytes;
  for (size_t at = 0; at < text.size();) bytes += unescape_one(text, at);
  return bytes;
}

Nanos parse_duration(const std::string& text) {
  size_t unit = 0;
  const int64_t count = std::stoll(text, &unit);
  const std::string name = text.substr(unit);
  if (name == "ns") return count;
  if (name == "ms") return count * nanos_per_ms;
  EXPECT_EQ(name, "s") << "a duration is a number and ns, ms or s: " << text;
  return count * nanos_per_second;
}

// "a> ...", "a>> ...", "a< ...", "a end", "a close".
bool parse_client(const std::string& line, Line& parsed) {
  const size_t space = line.find(' ');
  const size_t mark = line.find_first_of("<> ");
  if (mark == std::string::npos || mark == 0) return false;
  parsed.client = line.substr(0, mark);
  if (line[mark] == ' ') {
    const std::string word = line.substr(mark + 1);
    parsed.kind = word == "end" ? Kind::End : Kind::Close;
    return word == "end" || word == "close";
  }
  const std::string operation =
      line.substr(mark, space == std::string::npos ? space : space - mark);
  const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
  if (operation.starts_with('<')) {
    parsed.kind = operation == "<" ? Kind::Expect : Kind::ExpectLines;
    parsed.bytes = rest;
    return operation == "<" || operation == "<~";
  }
  parsed.kind = Kind::Send;
  parsed.bytes = unescape(rest) + (operation == ">" ? "\r\n" : "");
  return operation == ">" || operation == ">>";
}

bool parse_word(const std::string& line, Line& parsed) {
  const size_t space = line.find(' ');
  const std::string word = line.substr(0, space);
  const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
  if (word == "hold") parsed.kind = Kind::Hold;
  if (word == "commit") parsed.kind = Kind::Commit;
  if (word == "crash") parsed.kind = Kind::Crash;
  if (word == "restart") parsed.kind = Kind::Restart;
  if (word == "advance" || word == "skip") {
    parsed.kind = word == "skip" ? Kind::Skip : Kind::Advance;
    parsed.number = parse_duration(rest);
  }
  if (word == "damage") {
    parsed.kind = Kind::Damage;
    parsed.number = std::stoll(rest);
  }
  if (word == "set") {
    const size_t value = rest.find(' ');
    parsed.kind = Kind::Set;
    parsed.setting = rest.substr(0, value);
    parsed.number = std::stoll(rest.substr(value + 1));
  }
  return parsed.kind != Kind::Blank;
}

// Each of the lines, with " | " between two, is a line of the document.
void expect_lines(const std::string& document, const std::string& lines) {
  size_t begin = 0;
  for (;;) {
    const size_t end = lines.find(" | ", begin);
    const std::string line = lines.substr(begin, end == std::string::npos ? end : end - begin);
    EXPECT_NE(document.find("\n" + line + "\n"), std::string::npos) << line << " in " << document;
    if (end == std::string::npos) return;
    begin = end + 3;
  }
}

void run_line(Line& line, Driver& driver, bool& updated) {
  switch (line.kind) {
    case Kind::Blank:
      return;
    case Kind::Send:
      return driver.send(line.client, line.bytes);
    case Kind::End:
      return driver.end(line.client);
    case Kind::Close:
      return driver.close(line.client);
    case Kind::Advance:
      return driver.advance(line.number);
    case Kind::Skip:
      return driver.skip(line.number);
    case Kind::ExpectLines:
      return expect_lines(driver.receive(line.client).value_or(""), line.bytes);
    case Kind::Set:
      return driver.set(line.setting, line.number);
    case Kind::Expect:
      break;
    default:
      return driver.act(line);
  }
  if (line.bytes == "closed") {
    EXPECT_TRUE(driver.closed(line.client));
    return;
  }
  const std::optional<std::string> reply = driver.receive(line.client);
  const std::string got = reply ? show_reply(*reply) : "nothing";
  if (std::getenv("UPDATE_TRANSCRIPTS") != nullptr) {
    if (unescape(got) == unescape(line.bytes)) return;
    line.text = line.client + "< " + got;
    updated = true;
    return;
  }
  // The expected line may contain {a*200}, so the bytes are compared and not the text.
  EXPECT_EQ(unescape(got), unescape(line.bytes));
}

}  // namespace

bool Transcript::fits_a_socket(bool may_wait) const {
  for (const Line& line : lines) {
    switch (line.kind) {
      case Kind::Blank:
      case Kind::Send:
      case Kind::Expect:
      case Kind::ExpectLines:
      case Kind::End:
      case Kind::Close:
        break;
      case Kind::Advance:
        if (!may_wait) return false;
        break;
      default:
        return false;
    }
  }
  return true;
}

Transcript read_transcript(const std::string& path) {
  Transcript transcript{.path = path, .lines = {}};
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  for (std::string text; std::getline(file, text);) {
    Line line;
    line.text = text;
    const std::string content = strip_comment(text);
    if (!content.empty() && !parse_word(content, line) && !parse_client(content, line)) {
      ADD_FAILURE() << path << ":" << transcript.lines.size() + 1 << ": cannot read: " << text;
    }
    transcript.lines.push_back(line);
  }
  return transcript;
}

std::string show_reply(std::string_view reply) {
  std::string shown;
  if (reply.ends_with("\r\n")) reply.remove_suffix(2);
  for (size_t i = 0; i < reply.size(); ++i) {
    const char c = reply[i];
    if (reply.substr(i, 2) == "\r\n") {
      shown += " | ";
      ++i;
    } else if (c == '\n') {
      shown += "\\n";
    } else if (c == '\\' || c == '{') {
      shown += std::string("\\") + c;
    } else if (c < ' ' || c > '~') {
      constexpr std::string_view digits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(c);
      shown += std::string("\\x") + digits[byte >> 4] + digits[byte & 15];
    } else {
      shown += c;
    }
  }
  return shown;
}

void run(const Transcript& transcript, Driver& driver) {
  std::vector<Line> lines = transcript.lines;
  bool updated = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    SCOPED_TRACE(transcript.path + ":" + std::to_string(i + 1) + ": " + lines[i].text);
    run_line(lines[i], driver, updated);
    driver.check();
  }
  if (!updated) return;
  std::ofstream file(transcript.path);
  for (const Line& line : lines) file << line.text << "\n";
}

}  // namespace perennial::transcripts
