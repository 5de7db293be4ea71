#pragma once

#include <string>

#include "engine/types/status.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace perennial::store {

// Returns the identity of the database that has made the newest table in the directory `db_path`
// that can be read: identity.h. It answers for a database that has lost its file IDENTITY. A
// database that was restored and has made no table since has the tables of the one that it is a
// copy of. Empty: no table says. Io: the directory cannot be listed.
Result<std::string> identity_of_newest_table(const std::string& db_path,
                                             rocksdb::Env* env = nullptr);

}  // namespace perennial::store
