#include "store/recovery/manifest_edit.h"

#include <ostream>
#include <string>

#include <gtest/gtest.h>

namespace perennial::store {
namespace {

using namespace std::string_literals;

struct EditCase {
  const char* name;
  std::string record;
  std::string want;  // "family log min_log next_file", with a dash for a missing one; or "bad".
};

void PrintTo(const EditCase& edit, std::ostream* out) {
  *out << edit.name;
}

std::string text(const std::optional<uint64_t>& number) {
  return number ? std::to_string(*number) : "-";
}

std::string text(const std::optional<ManifestEdit>& edit) {
  if (!edit) return "bad";
  return std::to_string(edit->family) +
         (edit->adds_family ? "+" + std::string(edit->family_name) : "") +
         (edit->drops_family ? "!" : "") + " " + text(edit->log) + " " + text(edit->min_log) + " " +
         text(edit->next_file);
}

class ManifestEditTest : public testing::TestWithParam<EditCase> {};

TEST_P(ManifestEditTest, FieldsAreDecoded) {
  EXPECT_EQ(text(decode_manifest_edit(GetParam().record)), GetParam().want);
}

// A file at level 1 with the number 9, keys "a" and "b", and two fields of its own.
const std::string new_file = "\x67\x01\x09\x05\x01"s + "a\x01" + "b\x02\x03\x05\x02xy\x06\x00\x01"s;

INSTANTIATE_TEST_SUITE_P(
    Store, ManifestEditTest,
    testing::Values(EditCase{"Empty", "", "0 - - -"},
                    EditCase{"Numbers", "\x02\x0c\x09\x00\x03\x0e\x0a\x0b\x04\x7f"s, "0 12 11 14"},
                    EditCase{"LongNumber", "\x02\x80\x01"s, "0 128 - -"},
                    EditCase{"CutNumber", "\x02\x80"s, "bad"}, EditCase{"NoNumber", "\x02"s, "bad"},
                    EditCase{"EndlessNumber", "\x02" + std::string(11, '\xff'), "bad"},
                    EditCase{"Comparator",
                             "\x01\x03"
                             "abc\x02\x05"s,
                             "0 5 - -"},
                    EditCase{"CutComparator",
                             "\x01\x04"
                             "abc"s,
                             "bad"},
                    EditCase{"FamilyAdded", "\xc8\x01\x03\xc9\x01\x05ready"s, "3+ready - - -"},
                    EditCase{"FamilyDropped", "\xc8\x01\x03\xca\x01"s, "3! - - -"},
                    EditCase{"Flush", "\x02\x0c" + new_file + "\xc8\x01\x02"s, "2 12 - -"},
                    EditCase{"CutFlush", "\x02\x0c" + new_file.substr(0, new_file.size() - 1),
                             "bad"},
                    EditCase{"Compaction",
                             "\x06\x00\x07\x05\x01\x02zz"s + new_file + "\xc8\x01\x04"s, "4 - - -"},
                    EditCase{"Ignorable", "\x81\x40\x02id\x02\x05"s, "0 5 - -"},
                    EditCase{"Unknown", "\x5a\x01"s, "bad"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace perennial::store
