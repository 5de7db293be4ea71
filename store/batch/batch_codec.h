#pragma once

#include <string>
#include <string_view>

#include "engine/types/status.h"
#include "store/batch/batch.h"

// A sealed batch as bytes, and back. They say what the batch is and not what RocksDB makes of it,
// so that a store on any version of RocksDB can apply it. store/README.md draws them.
namespace perennial::store {

// Appends the batch to `out`. Jobs that came and went within it write nothing, and are left out.
// REQUIRES: it is sealed, and its rows are valid.
void encode_batch(const Batch& batch, std::string& out);

// The batch that `bytes` are, sealed, for Store::write(). Its bodies are views of `bytes`, which
// must stay until it is written; all else is its own. Whether a job's `before` is where its row is,
// only whoever has the rows before it can know.
// Corruption: they are not what was encoded. Unsupported: a newer version has encoded them.
Result<Batch> decode_batch(std::string_view bytes);

}  // namespace perennial::store
