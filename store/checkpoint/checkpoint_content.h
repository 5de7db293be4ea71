#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/types/status.h"
#include "store/checkpoint/checkpoint.h"
#include "store/disk/file_tree.h"

// What is in a checkpoint, found out by reading it. Included by store's own files only.
namespace perennial::store {

inline constexpr std::string_view manifest_name = "manifest.json";

// Whoever reads: all of it may be left out.
struct Reading {
  rocksdb::Env* env = nullptr;
  FileTree::Cancelled cancelled = {};
  FileTree::Progress progress = {};  // Told all bytes so far.
};

// Every file of the database, hashed.
Result<std::vector<CheckpointFile>> read_files(const std::string& db_path, const Reading& reading);
// RocksDB's own checksums in every table.
Status check_tables(const std::string& db_path, const std::vector<CheckpointFile>& files,
                    const Reading& reading);
// Opens the database in `path`/db, reads every row, and fills commit, next_id, jobs and tubes.
Status count_rows(const std::string& path, const Reading& reading, CheckpointManifest& out);

}  // namespace perennial::store
