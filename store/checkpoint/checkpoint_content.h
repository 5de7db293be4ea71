#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/types/status.h"
#include "store/checkpoint/checkpoint.h"
#include "store/disk/file_tree.h"

// Functions that read the content of a checkpoint. Only files of store/ include this header.
namespace perennial::store {

inline constexpr std::string_view manifest_name = "manifest.json";

// Options of the functions below. Each may be left out.
struct Reading {
  rocksdb::Env* env = nullptr;
  FileTree::Cancelled cancelled = {};
  FileTree::Progress progress = {};  // Gets the number of all bytes so far.
};

// Returns every file of the database with its hash, sorted by name.
Result<std::vector<CheckpointFile>> read_files(const std::string& db_path, const Reading& reading);
// Checks RocksDB's own checksums in every table.
Status check_tables(const std::string& db_path, const std::vector<CheckpointFile>& files,
                    const Reading& reading);
Status check_table(const std::string& path, rocksdb::Env* env);
// Returns the newest format whose families are all there, which is that of the database or a later
// one whose family was made and not written to. It reads only the MANIFEST.
Result<uint32_t> format_by_families(const std::string& db_path, rocksdb::Env* env);
// Opens the database in `path`/db, reads every row, and fills format, commit, next_id, jobs and
// tubes.
Status count_rows(const std::string& path, const Reading& reading, CheckpointManifest& out);

}  // namespace perennial::store
