#include "cmd/perennial/output/text.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "tests/cmd/perennial/capture.h"
#include "tests/support/temp_dir.h"

namespace perennial::tool {
namespace {

std::string quoted(const std::string& dir, std::string_view text) {
  return capture(dir,
                 [&](int fd) {
                   Output out(fd);
                   add_quoted(out, text);
                   return out.finish();
                 })
      .text;
}

// Tests all strings of one and two bytes, and relevant ones of three. What counts as UTF-8 must be
// accepted by the JSON parser and be returned unchanged.
TEST(Text, WhatIsUtf8ComesBackFromJson) {
  const support::TempDir dir("/dev/shm");
  const uint8_t bytes[] = {0x00, 0x0a, 0x1f, 0x22, 0x5c, 0x7f, 0x80, 0x85, 0x9f, 0xa0,
                           0xa8, 0xbb, 0xbd, 0xbe, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0,
                           0xe2, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff, 'a'};
  std::string all = "[";
  std::vector<std::string> texts;
  const auto add = [&](const std::string& text) {
    const bool taken = nlohmann::json::accept("\"" + text + "\"");
    const bool plain = text.find_first_of(std::string("\0\n\x1f\"\\", 5)) == std::string::npos;
    if (plain) {
      EXPECT_EQ(is_utf8(text), taken);
    }
    if (is_utf8(text)) texts.push_back(text);
  };
  for (const uint8_t one : bytes) {
    for (const uint8_t two : bytes) {
      for (const uint8_t three : bytes) {
        add({static_cast<char>(one), static_cast<char>(two), static_cast<char>(three)});
        add({static_cast<char>(one), static_cast<char>(two), static_cast<char>(three), '\x80'});
      }
    }
  }
  const std::string joined = capture(dir.path(), [&](int fd) {
                               Output out(fd);
                               for (const std::string& text : texts) {
                                 out.add(out.failed() ? "" : ",");
                                 add_quoted(out, text);
                               }
                               return out.finish();
                             }).text;
  const nlohmann::json parsed = nlohmann::json::parse("[" + joined.substr(1) + "]", nullptr, false);
  ASSERT_FALSE(parsed.is_discarded());
  ASSERT_GT(texts.size(), 1000u);
  EXPECT_EQ(parsed.get<std::vector<std::string>>(), texts);
}

TEST(Text, IsAStringOfYamlToo) {
  const support::TempDir dir("/dev/shm");
  for (const std::string text : {"plain", "a: b # c", "\"\\\n\t\x01\x7f", "\xc2\x85 \xe2\x80\xa8",
                                 "\xef\xbb\xbf", "\xc3\xa4\xf0\x9f\x90\x8c", ""}) {
    EXPECT_EQ(YAML::Load(quoted(dir.path(), text)).as<std::string>(), text);
  }
}

TEST(Text, Base64ComesBackWhereverItIsCut) {
  const support::TempDir dir("/dev/shm");
  for (const size_t bytes : {0, 1, 2, 3, 12287, 12288, 12289, 12290, 100'000}) {
    std::string body(bytes, '\xff');
    for (size_t i = 0; i < bytes; i += 3) body[i] = static_cast<char>(i);
    const std::string text = capture(dir.path(), [&](int fd) {
                               Output out(fd);
                               add_base64(out, body);
                               return out.finish();
                             }).text;
    ASSERT_GE(text.size(), 2u);
    std::string back;
    ASSERT_TRUE(from_base64(text.substr(1, text.size() - 2), back)) << bytes;
    EXPECT_EQ(back, body);
  }
  std::string ignored;
  EXPECT_FALSE(from_base64("no base64!", ignored));
}

TEST(Output, SaysThatTheDiskIsFull) {
  const int fd = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  Output out(fd);
  out.add(std::string(1 << 20, 'x'));
  EXPECT_TRUE(out.failed());
  EXPECT_EQ(out.finish().code(), StatusCode::NoSpace);
  ::close(fd);
}

}  // namespace
}  // namespace perennial::tool
