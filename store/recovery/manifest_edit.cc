#include "store/recovery/manifest_edit.h"

#include <cstddef>

#include "store/format/bytes.h"

namespace perennial::store {
namespace {

// RocksDB never changes these numbers.
enum class Tag : uint32_t {
  Comparator = 1,
  LogNumber = 2,
  NextFileNumber = 3,
  LastSequence = 4,
  CompactCursor = 5,
  DeletedFile = 6,
  PrevLogNumber = 9,
  MinLogNumberToKeep = 10,
  NewFile = 103,  // The fourth layout of the field, and the only one that is still written.
  Family = 200,
  FamilyAdd = 201,
  FamilyDrop = 202,
  MaxFamily = 203,
  // EditFields with this bit begin with their length, so that a reader can skip them.
  Ignorable = 1 << 13,
};

constexpr uint64_t new_file_end = 1;

// Takes fields off the front of a record. After a field that is not complete all others are empty.
class EditFields {
 public:
  explicit EditFields(std::string_view bytes) : rest_(bytes) {}

  bool is_whole() const { return is_whole_; }
  bool has_more() const { return is_whole_ && !rest_.empty(); }
  void fail() { is_whole_ = false; }

  uint64_t number() {
    const std::optional<uint64_t> out = take_varint(rest_);
    if (!out) fail();
    return out.value_or(0);
  }
  void skip_numbers(int count) {
    for (int i = 0; i < count; ++i) number();
  }
  std::string_view bytes() {
    const uint64_t length = number();
    if (length > rest_.size()) {
      fail();
      return {};
    }
    const std::string_view out = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return out;
  }
  void skip_bytes() { bytes(); }

 private:
  std::string_view rest_;
  bool is_whole_ = true;
};

void skip_new_file(EditFields& fields) {
  fields.skip_numbers(3);  // Level, number, size.
  fields.skip_bytes();     // The smallest key.
  fields.skip_bytes();     // The largest key.
  fields.skip_numbers(2);  // The smallest and the largest sequence number.
  while (fields.is_whole() && fields.number() != new_file_end) fields.skip_bytes();
}

void take_field(uint64_t tag, EditFields& fields, ManifestEdit& edit) {
  if ((tag & static_cast<uint64_t>(Tag::Ignorable)) != 0) return fields.skip_bytes();
  switch (static_cast<Tag>(tag)) {
    case Tag::Comparator:
      return fields.skip_bytes();
    case Tag::LogNumber:
      edit.log = fields.number();
      return;
    case Tag::NextFileNumber:
      edit.next_file = fields.number();
      return;
    case Tag::MinLogNumberToKeep:
      edit.min_log = fields.number();
      return;
    case Tag::LastSequence:
    case Tag::PrevLogNumber:
    case Tag::MaxFamily:
      return fields.skip_numbers(1);
    case Tag::DeletedFile:  // Level, number.
      return fields.skip_numbers(2);
    case Tag::CompactCursor:  // Level, key.
      fields.skip_numbers(1);
      return fields.skip_bytes();
    case Tag::NewFile:
      return skip_new_file(fields);
    case Tag::Family:
      edit.family = static_cast<uint32_t>(fields.number());
      return;
    case Tag::FamilyAdd:
      edit.adds_family = true;
      edit.family_name = fields.bytes();
      return;
    case Tag::FamilyDrop:
      edit.drops_family = true;
      return;
    case Tag::Ignorable:
      break;
  }
  fields.fail();
}

}  // namespace

std::optional<ManifestEdit> decode_manifest_edit(std::string_view record) {
  ManifestEdit edit;
  EditFields fields(record);
  while (fields.has_more()) {
    const uint64_t tag = fields.number();
    if (fields.is_whole()) take_field(tag, fields, edit);
  }
  return fields.is_whole() ? std::optional(edit) : std::nullopt;
}

}  // namespace perennial::store
