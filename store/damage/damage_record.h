#pragma once

#include <string>
#include <vector>

#include "engine/types/status.h"
#include "store/types/damage.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

// The file `damaged-blocks` in a database's directory: the blocks that were found damaged since the
// last start that missed nothing of their family. It is written before anything relies on the loss,
// so that a start knows why rows are missing, and how many may be. A checkpoint gets a copy.
// Only files of store/ include this header.
namespace perennial::store {

inline constexpr const char* damage_record_name = "damaged-blocks";

// Replaces the file durably. Without blocks it is removed. `env`: the file system, the machine's if
// null.
Status write_damage_record(rocksdb::Env* env, const std::string& db_path,
                           const std::vector<DamagedBlock>& blocks);

// Returns no blocks if there is no such file. Corruption: it is not what was written.
Result<std::vector<DamagedBlock>> read_damage_record(rocksdb::Env* env, const std::string& db_path);

// The file's content, one line for each block: README.md draws it. While all blocks are of bodies
// it is of version 1, which 1.0 reads.
std::string encode_damage_record(const std::vector<DamagedBlock>& blocks);
Result<std::vector<DamagedBlock>> decode_damage_record(std::string_view text);

}  // namespace perennial::store
