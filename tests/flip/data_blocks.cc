#include "tests/flip/data_blocks.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include <rocksdb/file_system.h>
#include <rocksdb/metadata.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table_properties.h>

#include "engine/types/check.h"
#include "store/damage/table_blocks.h"
#include "store/rocks/database.h"
#include "store/types/store_failure.h"

namespace perennial::store {
namespace {

namespace fs = std::filesystem;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> tables_of(const std::string& data_dir) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(data_dir + "/db")) {
    if (entry.path().extension() == ".sst") out.push_back(entry.path());
  }
  std::ranges::sort(out);
  return out;
}

// The paths of the tables that the database has.
std::vector<std::string> live_tables_of(const std::string& data_dir) {
  const Options options = {.data_dir = data_dir};
  StoreFailure failure(options.events);
  const Result<Database> db = Database::open_tables(data_dir + "/db", options, failure, {});
  CHECK(db.ok());
  std::vector<rocksdb::LiveFileMetaData> files;
  (*db)->GetLiveFilesMetaData(&files);
  std::vector<std::string> out;
  for (const rocksdb::LiveFileMetaData& file : files) {
    out.push_back(data_dir + "/db/" + file.relative_filename);
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

std::vector<DataBlock> blocks_of(const std::vector<std::string>& tables, Family family) {
  std::vector<DataBlock> out;
  for (const std::string& path : tables) {
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

}  // namespace

std::set<JobId> DataBlock::ended_jobs(const Image& image) const {
  std::set<JobId> out;
  for (const auto& [id, job] : image.ended) {
    const bool is_there = family == Family::EndedOrder
                              ? puts.contains(ended_order_key(job.tube, job.place))
                              : puts.contains(std::string(view(job_key(id))));
    if (is_there) out.insert(id);
  }
  return out;
}

std::vector<DataBlock> damaged_blocks_of(const std::string& data_dir, const std::string& copy,
                                         Family family) {
  std::vector<DataBlock> out;
  std::map<std::string, std::pair<std::string, std::string>> tables;  // What is in both.
  for (DataBlock& block : live_data_blocks_of(data_dir, family)) {
    const auto [table, is_new] = tables.try_emplace(block.file);
    if (is_new) {
      table->second = {content_of(data_dir + "/db/" + block.file),
                       content_of(copy + "/db/" + block.file)};
    }
    const auto& [before, after] = table->second;
    if (after.size() != before.size()) continue;
    const uint64_t bytes = block.bytes + block_trailer_bytes;
    const bool is_same = before.compare(block.offset, bytes, after, block.offset, bytes) == 0;
    if (!is_same) out.push_back(std::move(block));
  }
  return out;
}

std::vector<DataBlock> data_blocks_of(const std::string& data_dir, Family family) {
  return blocks_of(tables_of(data_dir), family);
}

std::vector<DataBlock> live_data_blocks_of(const std::string& data_dir, Family family) {
  return blocks_of(live_tables_of(data_dir), family);
}

}  // namespace perennial::store
