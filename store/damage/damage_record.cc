#include "store/damage/damage_record.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "store/disk/file_tree.h"
#include "store/disk/hash.h"

namespace perennial::store {
namespace {

// In version 2 each line begins with the family.
constexpr std::string_view first_line = "perennial damaged-blocks 1\n";
constexpr std::string_view first_line_with_families = "perennial damaged-blocks 2\n";
constexpr std::string_view last_line = "xxh3 ";

std::string hash_of(std::string_view text) {
  Hasher hasher;
  hasher.add(text);
  return hasher.hex();
}

// Takes what stands before the next `end`, and `end`. None: it does not occur.
std::optional<std::string_view> take_until(std::string_view& rest, char end) {
  const size_t place = rest.find(end);
  if (place == std::string_view::npos) return std::nullopt;
  const std::string_view out = rest.substr(0, place);
  rest.remove_prefix(place + 1);
  return out;
}

bool take_number(std::string_view& rest, uint64_t& number) {
  const std::optional<std::string_view> word = take_until(rest, ' ');
  if (!word) return false;
  const auto read = std::from_chars(word->data(), word->data() + word->size(), number);
  return read.ec == std::errc() && read.ptr == word->data() + word->size();
}

// A family whose damage is a failure is never in the file.
bool take_family(std::string_view& rest, Family& family) {
  const std::optional<std::string_view> word = take_until(rest, ' ');
  const std::optional<Family> found = word ? family_named(*word) : std::nullopt;
  if (!found || is_loaded(*found)) return false;
  family = *found;
  return true;
}

std::optional<DamagedBlock> decode_line(std::string_view line, bool has_family) {
  DamagedBlock block;
  if (has_family && !take_family(line, block.family)) return std::nullopt;
  const bool is_whole = take_number(line, block.table) && take_number(line, block.offset) &&
                        take_number(line, block.bytes) && take_number(line, block.first) &&
                        take_number(line, block.last) && block.first <= block.last;
  if (!is_whole) return std::nullopt;
  block.problem = line;
  return block;
}

Status not_whole() {
  return {StatusCode::Corruption, std::string(damage_record_name) + " is damaged itself"};
}

// A problem is a message of RocksDB or of the machine.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return text;
}

}  // namespace

std::string encode_damage_record(const std::vector<DamagedBlock>& blocks) {
  const bool has_families = std::ranges::any_of(
      blocks, [](const DamagedBlock& block) { return block.family != Family::Bodies; });
  std::string text(has_families ? first_line_with_families : first_line);
  for (const DamagedBlock& block : blocks) {
    if (has_families) text += fmt::format("{} ", name_of(block.family));
    text += fmt::format("{} {} {} {} {} {}\n", block.table, block.offset, block.bytes, block.first,
                        block.last, one_line(block.problem));
  }
  return text += fmt::format("{}{}\n", last_line, hash_of(text));
}

Result<std::vector<DamagedBlock>> decode_damage_record(std::string_view text) {
  const bool has_families = text.starts_with(first_line_with_families);
  if (!has_families && !text.starts_with(first_line)) return not_whole();
  static_assert(first_line.size() == first_line_with_families.size());
  std::vector<DamagedBlock> blocks;
  std::string_view rest = text.substr(first_line.size());
  while (!rest.starts_with(last_line)) {
    const std::optional<std::string_view> line = take_until(rest, '\n');
    std::optional<DamagedBlock> block = line ? decode_line(*line, has_families) : std::nullopt;
    if (!block) return not_whole();
    blocks.push_back(*std::move(block));
  }
  const std::string_view hashed = text.substr(0, text.size() - rest.size());
  const bool is_right = rest == fmt::format("{}{}\n", last_line, hash_of(hashed));
  return is_right ? Result(std::move(blocks)) : not_whole();
}

Status write_damage_record(rocksdb::Env* env, const std::string& db_path,
                           const std::vector<DamagedBlock>& blocks) {
  const FileTree tree(env);
  const std::string path = db_path + "/" + damage_record_name;
  if (blocks.empty()) {
    if (Status removed = tree.remove(path); !removed.ok()) return removed;
    return tree.sync_dir(db_path);
  }
  const std::string next = path + ".new";
  if (Status written = tree.write(next, encode_damage_record(blocks)); !written.ok()) {
    return written;
  }
  return tree.publish(next, path);
}

Result<std::vector<DamagedBlock>> read_damage_record(rocksdb::Env* env,
                                                     const std::string& db_path) {
  const FileTree tree(env);
  const std::string path = db_path + "/" + damage_record_name;
  const Result<bool> is_there = tree.exists(path);
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) return std::vector<DamagedBlock>();
  const Result<std::string> text = tree.read(path);
  return text.ok() ? decode_damage_record(*text) : text.status();
}

}  // namespace perennial::store
