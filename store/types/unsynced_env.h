#pragma once

namespace rocksdb {
class Env;
}  // namespace rocksdb

// A store whose directory is thrown away needs no sync: not for a batch, and not at a start, which
// makes some fifty of them.
namespace perennial::store {

// The machine's file system, on which a sync of a file or of a directory does nothing. A crash of
// the machine may leave anything. It lives as long as the process.
rocksdb::Env* unsynced_env();

}  // namespace perennial::store
