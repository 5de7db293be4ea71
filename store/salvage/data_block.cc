#include "store/salvage/data_block.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "store/damage/table_blocks.h"
#include "store/format/bytes.h"

namespace perennial::store {
namespace {

using Outcome = BlockAttempt::Outcome;

constexpr size_t stored_key_bytes_max = table_key_bytes_max + key_number_bytes;

// RocksDB's numbers for kinds of entries reach the disk, so they do not change.
enum class EntryKind : uint8_t { Delete = 0, Put = 1, SingleDelete = 7 };

// Where a part of a block ends.
struct End {
  Outcome outcome = Outcome::NoBlock;
  uint64_t at = 0;
};

End no_block(uint64_t at) {
  return {.outcome = Outcome::NoBlock, .at = at};
}

// Bytes of which more may follow.
class Input {
 public:
  Input(std::string_view bytes, uint64_t bytes_left) : bytes_(bytes), bytes_left_(bytes_left) {}

  uint64_t at() const { return at_; }
  std::string_view rest() const { return bytes_.substr(at_); }
  // False: they are not there, and end() says whether they could follow.
  bool has(uint64_t bytes) {
    needed_ = bytes;
    return bytes <= bytes_.size() - at_;
  }
  void skip(uint64_t bytes) { at_ += bytes; }
  std::optional<uint32_t> varint() {
    constexpr uint64_t bytes_max = 5;
    std::string_view rest = this->rest();
    const std::optional<uint64_t> value = take_varint(rest);
    const uint64_t there = this->rest().size();
    needed_ = !value && there < bytes_max ? there + 1 : 0;
    if (!value || *value > data_block_bytes_max) return std::nullopt;
    at_ = bytes_.size() - rest.size();
    return static_cast<uint32_t>(*value);
  }
  End end() const {
    const bool may_follow = needed_ > bytes_.size() - at_ && needed_ <= bytes_left_ - at_;
    return {.outcome = may_follow ? Outcome::NeedsMore : Outcome::NoBlock, .at = at_};
  }

 private:
  const std::string_view bytes_;
  const uint64_t bytes_left_;
  uint64_t at_ = 0;
  uint64_t needed_ = 0;  // What was asked for last.
};

uint64_t stored_number(std::string_view stored_key) {
  return get<uint64_t>(stored_key, stored_key.size() - key_number_bytes);
}

bool is_key_of(std::string_view stored_key, const TableBounds& bounds) {
  if (stored_key.size() <= key_number_bytes) return false;
  const uint64_t number = stored_number(stored_key);
  const auto kind = static_cast<EntryKind>(number & 0xff);
  const bool is_ours =
      kind == EntryKind::Delete || kind == EntryKind::Put || kind == EntryKind::SingleDelete;
  const std::string_view key = family_key(stored_key);
  return is_ours && number >> 8 <= bounds.sequence_max && bounds.first_key <= key &&
         key <= bounds.last_key;
}

// Reads the head of an entry and its key, which `key` then has. REQUIRES: `key` is that of the
// entry before, or empty. None: input.end() says why.
struct EntryHead {
  uint32_t value_bytes = 0;
  bool is_wrong = false;
};
std::optional<EntryHead> read_head(Input& input, const TableBounds& bounds, std::string& key,
                                   std::string& before) {
  const std::optional<uint32_t> shared = input.varint();
  if (!shared) return std::nullopt;
  const std::optional<uint32_t> unshared = input.varint();
  if (!unshared) return std::nullopt;
  const bool is_possible = *shared <= key.size() && *unshared <= stored_key_bytes_max;
  if (!is_possible) return EntryHead{.is_wrong = true};
  const std::optional<uint32_t> value_bytes = input.varint();
  if (!value_bytes || !input.has(*unshared)) return std::nullopt;
  before.assign(key);
  key.resize(*shared);
  key.append(input.rest(), 0, *unshared);
  input.skip(*unshared);
  const bool is_right = is_key_of(key, bounds) && (before.empty() || sorts_before(before, key));
  return EntryHead{.value_bytes = *value_bytes, .is_wrong = !is_right};
}

// The restart points begin with that of the first entry, 0, which would be an entry without a key.
// REQUIRES: restart_bytes are there.
constexpr size_t restart_bytes = sizeof(uint32_t);
bool is_at_restarts(const Input& input) {
  return get<uint32_t>(input.rest(), 0) == 0;
}

// Passes over the restart points: ascending places of entries, and then their number. Each entry
// takes more than one byte, so that the number cannot be mistaken for a place.
End skip_restarts(Input& input) {
  const uint64_t entries_end = input.at();
  uint32_t last = 0;
  for (uint32_t count = 0;; ++count) {
    if (!input.has(restart_bytes)) return input.end();
    const auto value = get<uint32_t>(input.rest(), 0);
    input.skip(restart_bytes);
    if (count > 0 && value == count) return {.outcome = Outcome::Block, .at = input.at()};
    const bool is_place = count == 0 ? value == 0 : value > last && value < entries_end;
    if (!is_place) return no_block(input.at());
    last = value;
  }
}

// Follows the entries of an unpacked block to its end.
End follow_entries(Input& input, const TableBounds& bounds, DataBlock& block) {
  std::string key;
  std::string before;
  while (true) {
    if (!input.has(restart_bytes)) return input.end();  // An entry has as many bytes at least.
    if (block.entries > 0 && is_at_restarts(input)) break;
    const std::optional<EntryHead> head = read_head(input, bounds, key, before);
    if (!head) return input.end();
    if (head->is_wrong) return no_block(input.at());
    if (!input.has(head->value_bytes)) return input.end();
    input.skip(head->value_bytes);
    if (block.entries++ == 0) block.first_key = key;
  }
  block.last_key = std::move(key);
  return skip_restarts(input);
}

// Whether an unpacked block could begin so: the first entry has a whole key.
bool begins_with_key(std::string_view bytes, const TableBounds& bounds) {
  std::string key;
  std::string before;
  Input input(bytes, bytes.size());
  const std::optional<EntryHead> head = read_head(input, bounds, key, before);
  return head && !head->is_wrong;
}

// Whether an entry that begins a block could begin so: it shares nothing with one before, and its
// key has more than RocksDB's number.
bool may_begin_entry(char shared, char unshared) {
  return shared == '\0' && static_cast<uint8_t>(unshared) > key_number_bytes;
}

// The same for a block, packed or not, without the cost of following it: most places that are
// tried begin none. LZ4 begins with literals, and with one of them alone a key would be empty.
constexpr unsigned more_follows = 15;  // In a token: bytes with the rest of a length.
bool may_begin_block(std::string_view bytes) {
  constexpr size_t enough = 2 * sizeof(uint64_t);
  if (bytes.size() < enough) return true;
  if (bytes[0] == '\0') return may_begin_entry(bytes[0], bytes[1]);
  if (!take_varint(bytes) || bytes.empty()) return false;
  const unsigned literals = static_cast<uint8_t>(bytes.front()) >> 4;
  bytes.remove_prefix(1);
  for (bool goes_on = literals == more_follows; goes_on && !bytes.empty();) {
    goes_on = bytes.front() == '\xff';
    bytes.remove_prefix(1);
  }
  if (bytes.size() < 2) return true;
  return literals >= 2 && may_begin_entry(bytes[0], bytes[1]);
}

// Adds the bytes of a length of LZ4's that does not fit into a token. None: input.end() says why.
std::optional<uint64_t> lz4_length(Input& input, unsigned in_token) {
  uint64_t length = in_token;
  for (bool goes_on = in_token == more_follows; goes_on;) {
    if (!input.has(1)) return std::nullopt;
    const auto byte = static_cast<uint8_t>(input.rest().front());
    input.skip(1);
    length += byte;
    goes_on = byte == 0xff;
  }
  return length;
}

// The beginning of an unpacked block: enough for the longest key and the lengths before it.
class Head {
 public:
  bool is_full() const { return bytes_.size() >= bytes_max; }
  std::string_view bytes() const { return bytes_; }
  void add(std::string_view literals) { bytes_.append(literals.substr(0, left())); }
  // REQUIRES: the distance is at most the number of bytes before, all of which are here.
  void repeat(uint64_t distance, uint64_t bytes) {
    bytes = std::min<uint64_t>(bytes, left());
    for (; bytes > 0; --bytes) bytes_ += bytes_[bytes_.size() - distance];
  }

 private:
  static constexpr size_t bytes_max = 512;
  static_assert(bytes_max > stored_key_bytes_max + 3 * sizeof(uint64_t));
  size_t left() const { return bytes_max - std::min(bytes_.size(), bytes_max); }

  std::string bytes_;
};

// Follows the sequences of a block that LZ4 has packed. Its end has literals, so that it is where
// as many bytes are unpacked as the block says.
End follow_sequences(Input& input, const TableBounds& bounds) {
  constexpr uint64_t match_bytes_min = 4;
  const std::optional<uint32_t> bytes = input.varint();
  if (!bytes) return input.end();
  Head head;
  bool is_checked = false;
  for (uint64_t unpacked = 0;;) {
    if (!input.has(1)) return input.end();
    const auto token = static_cast<uint8_t>(input.rest().front());
    input.skip(1);
    const std::optional<uint64_t> literals = lz4_length(input, token >> 4);
    if (!literals || !input.has(*literals)) return input.end();
    if (!head.is_full()) head.add(input.rest().substr(0, *literals));
    input.skip(*literals);
    unpacked += *literals;
    if (!is_checked && (head.is_full() || unpacked >= *bytes)) {
      if (!begins_with_key(head.bytes(), bounds)) return no_block(input.at());
      is_checked = true;
    }
    if (unpacked >= *bytes) {
      return {.outcome = unpacked == *bytes ? Outcome::Block : Outcome::NoBlock, .at = input.at()};
    }
    if (!input.has(sizeof(uint16_t))) return input.end();
    const auto distance = get<uint16_t>(input.rest(), 0);
    input.skip(sizeof(uint16_t));
    if (distance == 0 || distance > unpacked) return no_block(input.at());
    const std::optional<uint64_t> matched = lz4_length(input, token & 0xf);
    if (!matched) return input.end();
    if (!head.is_full()) head.repeat(distance, *matched + match_bytes_min);
    unpacked += *matched + match_bytes_min;
  }
}

bool decodes(std::string_view packed, const TableBounds& bounds, DataBlock& block) {
  const Result<std::string> unpacked = unpack_block(packed, data_block_bytes_max);
  if (!unpacked.ok()) return false;
  Input input(*unpacked, unpacked->size());
  const End end = follow_entries(input, bounds, block);
  return end.outcome == Outcome::Block && end.at == unpacked->size();
}

Outcome compare_checksum(Input& input, std::string_view bytes, Compression compression) {
  const uint64_t block_bytes = input.at();
  if (!input.has(block_trailer_bytes)) return input.end().outcome;
  if (input.rest().front() != static_cast<char>(compression)) return Outcome::NoBlock;
  const bool fits =
      get<uint32_t>(input.rest(), 1) == block_checksum(bytes.substr(0, block_bytes + 1));
  return fits ? Outcome::Block : Outcome::NoBlock;
}

}  // namespace

std::string_view family_key(std::string_view stored_key) {
  return stored_key.substr(0, stored_key.size() - key_number_bytes);
}

bool sorts_before(std::string_view stored_key, std::string_view other) {
  const int order = family_key(stored_key).compare(family_key(other));
  return order < 0 || (order == 0 && stored_number(stored_key) > stored_number(other));
}

// The first entry of a block shares nothing with one before, so that an unpacked block begins with
// a zero byte. A packed one begins with its length.
BlockAttempt read_data_block(std::string_view bytes, uint64_t bytes_left,
                             const TableBounds& bounds) {
  BlockAttempt out;
  if (bytes.empty() || !may_begin_block(bytes)) return out;
  Input input(bytes, bytes_left);
  const bool is_packed = bytes.front() != '\0';
  const End end =
      is_packed ? follow_sequences(input, bounds) : follow_entries(input, bounds, out.block);
  out.outcome = end.outcome;
  out.block.bytes = end.at;
  out.examined_bytes = end.at;
  if (out.outcome != Outcome::Block) return out;
  out.examined_bytes += end.at;
  out.outcome = compare_checksum(input, bytes, is_packed ? Compression::Lz4 : Compression::None);
  if (out.outcome != Outcome::Block || !is_packed) return out;
  if (!decodes(bytes.substr(0, end.at), bounds, out.block)) out.outcome = Outcome::NoBlock;
  return out;
}

}  // namespace perennial::store
