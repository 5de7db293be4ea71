#include "tests/flip/data_blocks.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <rocksdb/file_system.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table_properties.h>

#include "engine/types/check.h"
#include "store/damage/table_blocks.h"

namespace perennial::store {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> tables_of(const std::string& data_dir) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(data_dir + "/db")) {
    if (entry.path().extension() == ".sst") out.push_back(entry.path());
  }
  std::ranges::sort(out);
  return out;
}

void note_puts(rocksdb::SstFileReader& table, std::vector<DataBlock>& blocks) {
  const std::unique_ptr<rocksdb::Iterator> at(table.NewIterator({}));
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    const std::string key = at->key().ToString();
    const auto block = std::ranges::find_if(blocks, [&](auto& one) { return one.spans(key); });
    CHECK(block != blocks.end());
    block->puts.insert(key);
  }
  CHECK(at->status().ok());
}

}  // namespace

std::vector<DataBlock> data_blocks_of(const std::string& data_dir, Family family) {
  std::vector<DataBlock> out;
  for (const std::string& path : tables_of(data_dir)) {
    rocksdb::SstFileReader table{rocksdb::Options()};
    CHECK(table.Open(path).ok());
    const auto properties = table.GetTableProperties();
    if (properties->column_family_name != family_names[place_of(family)]) continue;
    const bool is_of_family = properties->index_key_is_user_key != 0;
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    CHECK(rocksdb::FileSystem::Default()->NewRandomAccessFile(path, {}, &file, nullptr).ok());
    const Result<std::vector<TableBlock>> found = list_blocks(
        *file, fs::file_size(path), is_of_family ? IndexKeys::OfFamily : IndexKeys::WithNumbers);
    CHECK(found.ok());
    std::vector<DataBlock> blocks;
    for (const TableBlock& block : *found) {
      blocks.push_back({.family = family,
                        .file = fs::path(path).filename(),
                        .offset = block.offset,
                        .bytes = block.bytes,
                        .after = block.after,
                        .until = block.until});
    }
    note_puts(table, blocks);
    out.insert(out.end(), blocks.begin(), blocks.end());
  }
  return out;
}

}  // namespace perennial::store
