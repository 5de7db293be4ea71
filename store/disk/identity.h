#pragma once

#include <string>
#include <string_view>

#include "engine/types/status.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

// Which database this is: random bits that RocksDB makes for a new one and keeps in the file
// IDENTITY. A checkpoint does not get a copy, so that what is restored from it is another database.
namespace perennial::store {

inline constexpr std::string_view identity_file = "IDENTITY";

// Whether it can be part of a file's name. What RocksDB makes can: 36 characters of a UUID.
bool is_identity(std::string_view text);
// What RocksDB says, or nothing where that is no identity: then nobody's checkpoints are its own.
std::string identity_or_none(std::string text);
// Of a data directory, which a server may be using. Empty: it has none that is known, because it
// was just restored, or is not there.
Result<std::string> read_identity(const std::string& data_dir, rocksdb::Env* env = nullptr);

}  // namespace perennial::store
