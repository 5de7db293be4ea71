#pragma once

#include <string>
#include <string_view>

#include "engine/types/status.h"
#include "store/batch/batch.h"

// Encodes a sealed batch as bytes, and decodes it. The bytes hold the batch itself and not
// RocksDB's form of it, so that a store on any version of RocksDB can apply them.
// store/format/README.md draws them.
namespace perennial::store {

// Appends the batch to `out`. A job that was put and deleted within the batch writes nothing, and
// is left out. The bytes have format 1 unless the batch has something that only format 2 holds.
// REQUIRES: the batch is sealed, and its rows are valid.
void encode_batch(const Batch& batch, std::string& out);
// Whether a batch has fields, keys or settings.
bool needs_format_2(const Batch& batch);

// Returns the sealed batch that `bytes` hold, for Store::write(). Its bodies are views of `bytes`,
// which must live until the batch is written; the batch owns everything else. The decoder cannot
// check that a job's row is in its `before` state, because only the database holds that row.
// Corruption: the bytes are not what was encoded. Unsupported: a newer version has encoded them.
Result<Batch> decode_batch(std::string_view bytes);

}  // namespace perennial::store
