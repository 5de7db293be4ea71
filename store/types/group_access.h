#pragma once

#include <cstdint>
#include <string>

#include "engine/types/status.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

// What the group of the data directory may do with its files. RocksDB makes files with the mode
// 0644, so that no mask of the process lets a group write to them.
namespace perennial::store {

enum class GroupAccess : uint8_t {
  None,   // Files 0600, directories 0700.
  Read,   // 0640 and 0750: a backup reads them.
  Write,  // 0660 and 0770: a server of another user of the group goes on with them.
};

// The machine's file system, on which new files and directories have these modes. It lives as long
// as the process. Null, which stands for the machine's own: there is no access.
rocksdb::Env* group_env(GroupAccess access);
// The name of the file system of unsynced_env().
inline constexpr const char* unsynced_file_system_name = "perennial.UnsyncedFileSystem";
// Whether the environment is the machine's, also with access of a group, or without syncs.
bool is_of_machine(rocksdb::Env* env);

// Gives the modes to all that is below a directory, and to the directory. What another user owns
// has them already, or cannot get them here, and is left alone. Links are not followed.
Status give_group_access(const std::string& dir, GroupAccess access);

}  // namespace perennial::store
