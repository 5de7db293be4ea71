#pragma once

#include <string>
#include <string_view>

#include "engine/types/status.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

// The identity of a database: random bits that RocksDB makes for a new database and keeps in the
// file IDENTITY. A checkpoint holds no copy of that file, so that a restored directory is another
// database.
namespace perennial::store {

inline constexpr std::string_view identity_file = "IDENTITY";

// Returns whether `text` has the form of an identity, which can be part of a file name. RocksDB's
// own, the 36 characters of a UUID, has that form.
bool is_identity(std::string_view text);
// Returns the identity in the text of the file, or an empty string if it holds none. A database
// without an identity owns no checkpoint that names one.
std::string identity_or_none(std::string text);
// Returns the identity of a data directory, which a server may be using. Empty: the directory has
// no identity file, because it was just restored or does not exist.
Result<std::string> read_identity(const std::string& data_dir, rocksdb::Env* env = nullptr);

}  // namespace perennial::store
