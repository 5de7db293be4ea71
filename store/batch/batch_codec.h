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
// is left out. The bytes have the format that format_of() says.
// REQUIRES: the batch is sealed, and its rows are valid.
void encode_batch(const Batch& batch, std::string& out);
// The lowest format that holds all that the batch has: batch_format_with_schedules if
// has_schedules(); batch_format_with_ended if has_ended();
// batch_format_with_notes if it has notes, or a job that counts some; batch_format_with_fields if
// it has fields, keys, settings or the order of a ready job; else batch_format.
uint8_t format_of(const Batch& batch);
// Whether it has notes, or a job that counts some.
bool has_notes(const Batch& batch);
// Whether it has ended jobs, or some that go, or settings or fields that belong to them.
bool has_ended(const Batch& batch);
// Whether it has schedules, or a job that one has put.
bool has_schedules(const Batch& batch);

// Returns the sealed batch that `bytes` hold, for Store::write(). Its bodies are views of `bytes`,
// which must live until the batch is written; the batch owns everything else. The decoder cannot
// check that a job's row is in its `before` state, because only the database holds that row.
// Corruption: the bytes are not what was encoded. Unsupported: a newer version has encoded them.
Result<Batch> decode_batch(std::string_view bytes);

}  // namespace perennial::store
