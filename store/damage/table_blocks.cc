#include "store/damage/table_blocks.h"

#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <lz4.h>
#include <xxhash.h>

#include "store/format/bytes.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

// The places in a footer.
constexpr size_t handles_begin = 1;
constexpr size_t version_begin = 41;
constexpr size_t magic_begin = 45;
constexpr uint64_t magic = 0x88e241b785f4cff7;
constexpr uint32_t version = 5;  // table_options() in rocks/tuning.cc.
constexpr char xxh3_checksum = 4;
// The index of a table of 64 MiB has 4,096 entries of at most 40 bytes.
constexpr uint64_t index_bytes_max = 64 << 20;

std::optional<BlockHandle> take_handle(std::string_view& rest) {
  const std::optional<uint64_t> offset = take_varint(rest);
  const std::optional<uint64_t> bytes = take_varint(rest);
  if (!offset || !bytes) return std::nullopt;
  return BlockHandle{.offset = *offset, .bytes = *bytes};
}

Status corrupt(std::string_view what) {
  return {StatusCode::Corruption, std::string(what)};
}

Result<std::string> read(rocksdb::FSRandomAccessFile& file, uint64_t offset, uint64_t bytes) {
  std::string buffer(bytes, '\0');
  rocksdb::Slice got;
  const rocksdb::IOStatus status =
      file.Read(offset, bytes, rocksdb::IOOptions(), &got, buffer.data(), nullptr);
  if (!status.ok()) return from_rocksdb(status);
  if (got.size() != bytes) return corrupt("the file ends there");
  if (got.data() != buffer.data()) buffer.assign(got.data(), got.size());
  return buffer;
}

// Returns the bytes of a whole block with the byte of its compression.
Result<std::string> read_block(rocksdb::FSRandomAccessFile& file, uint64_t offset, uint64_t bytes) {
  Result<std::string> found = read(file, offset, bytes + block_trailer_bytes);
  if (!found.ok()) return found;
  std::string block = found.take();
  const auto stored = get<uint32_t>(block, bytes + 1);
  block.resize(bytes + 1);
  if (stored == block_checksum(block)) return block;
  return corrupt("its checksum does not fit");
}

Result<std::string> decompress(std::string block) {
  const auto compression = static_cast<Compression>(block.back());
  block.pop_back();
  if (compression == Compression::None) return block;
  if (compression != Compression::Lz4) return Status(StatusCode::Unsupported, "its compression");
  return unpack_block(block, index_bytes_max);
}

Result<BlockHandle> read_footer(rocksdb::FSRandomAccessFile& file, uint64_t file_bytes) {
  if (file_bytes < footer_bytes) return corrupt("it has no footer");
  const Result<std::string> footer = read(file, file_bytes - footer_bytes, footer_bytes);
  if (!footer.ok()) return footer.status();
  if (get<uint64_t>(*footer, magic_begin) != magic) return corrupt("its footer is damaged");
  const bool is_ours =
      footer->front() == xxh3_checksum && get<uint32_t>(*footer, version_begin) == version;
  if (!is_ours) return Status(StatusCode::Unsupported, "it has another layout than our tables");
  std::string_view handles =
      std::string_view(*footer).substr(handles_begin, version_begin - handles_begin);
  const std::optional<BlockHandle> meta = take_handle(handles);
  const std::optional<BlockHandle> index = take_handle(handles);
  const bool fits = meta && index && index->bytes <= index_bytes_max &&
                    index->offset <= file_bytes && index->bytes <= file_bytes - index->offset;
  if (!fits) return corrupt("its footer is damaged");
  return *index;
}

// Returns the entries of an index block, without its restart points.
Result<std::string_view> entries_of(std::string_view block) {
  if (block.size() < sizeof(uint32_t)) return corrupt("the index is too short");
  const uint64_t restarts = get<uint32_t>(block, block.size() - sizeof(uint32_t));
  const uint64_t end_bytes = (restarts + 1) * sizeof(uint32_t);
  if (end_bytes > block.size()) return corrupt("the index has too many restart points");
  return block.substr(0, block.size() - end_bytes);
}

// Each entry is a restart point: the index is written with an interval of 1. So each has its whole
// key, and a whole handle behind it.
Result<TableBlock> take_entry(std::string_view& rest, IndexKeys keys) {
  constexpr size_t number_bytes = 8;  // The sequence number and the kind of a row.
  const std::optional<uint64_t> shared = take_varint(rest);
  const std::optional<uint64_t> key_bytes = take_varint(rest);
  const bool is_whole = shared && key_bytes && *shared == 0 && *key_bytes <= rest.size();
  if (!is_whole) return corrupt("the index has a damaged entry");
  std::string_view key = rest.substr(0, *key_bytes);
  rest.remove_prefix(key.size());
  uint64_t sequence = 0;
  if (keys == IndexKeys::WithNumbers && key.size() >= number_bytes) {
    sequence = get<uint64_t>(key, key.size() - number_bytes) >> 8;
    key.remove_suffix(number_bytes);
  }
  const std::optional<BlockHandle> handle = take_handle(rest);
  if (!handle) return corrupt("the index has a damaged entry");
  return TableBlock{.offset = handle->offset,
                    .bytes = handle->bytes,
                    .until = std::string(key),
                    .until_sequence = sequence};
}

}  // namespace

std::string write_footer(const BlockHandle& metaindex, const BlockHandle& index) {
  std::string out(1, xxh3_checksum);
  for (const BlockHandle& handle : {metaindex, index}) {
    add_varint(out, handle.offset);
    add_varint(out, handle.bytes);
  }
  out.resize(footer_bytes, '\0');
  put<uint32_t>(out.data() + version_begin, version);
  put<uint64_t>(out.data() + magic_begin, magic);
  return out;
}

Result<std::string> unpack_block(std::string_view block, uint64_t bytes_max) {
  const std::optional<uint64_t> bytes = take_varint(block);
  if (!bytes || *bytes > bytes_max) return corrupt("it has no length");
  std::string out(*bytes, '\0');
  const int got = LZ4_decompress_safe(block.data(), out.data(), static_cast<int>(block.size()),
                                      static_cast<int>(out.size()));
  if (got < 0 || static_cast<uint64_t>(got) != *bytes) return corrupt("it cannot be unpacked");
  return out;
}

// The last byte says how the block is compressed. RocksDB does not hash it with the others, because
// it does not lie behind them in memory there, and mixes it in by a multiplication.
uint32_t block_checksum(std::string_view block) {
  constexpr uint32_t last_byte_prime = 0x6b9083d9;  // format.cc there.
  const auto hash = static_cast<uint32_t>(XXH3_64bits(block.data(), block.size() - 1));
  return hash ^ static_cast<uint8_t>(block.back()) * last_byte_prime;
}

Result<std::vector<TableBlock>> list_blocks(rocksdb::FSRandomAccessFile& file, uint64_t file_bytes,
                                            IndexKeys keys) {
  const Result<BlockHandle> index = read_footer(file, file_bytes);
  if (!index.ok()) return index.status();
  Result<std::string> packed = read_block(file, index->offset, index->bytes);
  if (!packed.ok()) return Status(packed.status()).with("read the index");
  const Result<std::string> block = decompress(packed.take());
  if (!block.ok()) return Status(block.status()).with("read the index");
  const Result<std::string_view> entries = entries_of(*block);
  if (!entries.ok()) return entries.status();
  std::vector<TableBlock> out;
  for (std::string_view rest = *entries; !rest.empty();) {
    Result<TableBlock> entry = take_entry(rest, keys);
    if (!entry.ok()) return entry.take_status();
    // An index has only the upper bound of each block. The lower one is that of the block before.
    if (!out.empty()) entry->after = out.back().until;
    out.push_back(entry.take());
  }
  return out;
}

Status check_block(rocksdb::FSRandomAccessFile& file, uint64_t offset, uint64_t bytes) {
  const Result<std::string> block = read_block(file, offset, bytes);
  return block.ok() ? Status() : block.status();
}

}  // namespace perennial::store
