#include <string_view>

#include "store/damage/table_blocks.h"
#include "store/format/bytes.h"
#include "store/salvage/table_probe.h"

namespace perennial::store {
namespace {

void add_number(std::string& out, uint32_t number) {
  char bytes[sizeof number];
  put<uint32_t>(bytes, number);
  out.append(bytes, sizeof bytes);
}

// An unpacked block in which each entry is a restart point.
class BlockWriter {
 public:
  void add(std::string_view key, std::string_view value) {
    places_.push_back(static_cast<uint32_t>(bytes_.size()));
    add_varint(bytes_, 0);  // It shares nothing with the key before.
    add_varint(bytes_, key.size());
    add_varint(bytes_, value.size());
    bytes_ += key;
    bytes_ += value;
  }

  // Adds the block to `out`, and returns where it lies if `out` begins at `offset`.
  BlockHandle finish(std::string& out, uint64_t offset) {
    if (places_.empty()) places_.push_back(0);  // RocksDB expects one.
    for (const uint32_t place : places_) add_number(bytes_, place);
    add_number(bytes_, static_cast<uint32_t>(places_.size()));
    const BlockHandle handle = {.offset = offset + out.size(), .bytes = bytes_.size()};
    bytes_ += static_cast<char>(Compression::None);
    out += bytes_;
    add_number(out, block_checksum(bytes_));
    return handle;
  }

 private:
  std::string bytes_;
  std::vector<uint32_t> places_;
};

// Without properties RocksDB takes the keys of an index for stored keys, and expects handles that
// are not shortened.
void add_block(BlockWriter& index, const DataBlock& block) {
  std::string handle;
  add_varint(handle, block.offset);
  add_varint(handle, block.bytes);
  index.add(block.last_key, handle);
}

}  // namespace

std::string new_index(const std::vector<BlockRun>& runs, uint64_t offset) {
  BlockWriter index;
  for (const BlockRun& run : runs) {
    for (const DataBlock& block : run) add_block(index, block);
  }
  std::string out(footer_bytes, '\0');
  const BlockHandle index_handle = index.finish(out, offset);
  const BlockHandle metaindex = BlockWriter().finish(out, offset);
  out.replace(0, footer_bytes, write_footer(metaindex, index_handle));
  return out;
}

}  // namespace perennial::store
