#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/types/status.h"
#include "store/batch/batch.h"
#include "store/format/format.h"

// An entry of the log in etcd: a batch as bytes, and the hash of the entry before it. So the
// entries form a chain: two logs that differ in one entry differ in all that follow, and a node
// notices when the next entry was not written after the one that it holds. Indices alone would not
// show that: they are given out again when etcd is restored from an older snapshot.
//
//  0: the format, 3, and seven 0
//  8: the hash of the entry before; 0: there is none
//  16: the batch
//  then: XXH3_64bits of all before it
//
// A version without the chain wrote the batch alone (store/format/README.md, "A batch as bytes"),
// whose first byte is another number, and whose last eight bytes are a hash of the rest, too.
// Batches and entries share the numbers of their first bytes, so that a node says with one number
// up to where it reads both: NodeOptions::format. 1 and 2 are batches, 3 is an entry, 4 to 6 are
// batches again.
namespace perennial::store::cluster {

inline constexpr uint8_t chained_entry_format = 3;
static_assert(chained_entry_format != batch_format &&
                  chained_entry_format != batch_format_with_fields &&
                  chained_entry_format != batch_format_with_notes &&
                  chained_entry_format != batch_format_with_ended &&
                  chained_entry_format != batch_format_with_schedules,
              "the first byte tells an entry from a batch alone");

// The newest of these numbers, which a node of this program publishes.
inline constexpr uint8_t newest_format = newest_batch_format;

struct Entry {
  uint64_t previous = 0;   // The hash of the entry before. 0: unknown.
  std::string_view batch;  // As bytes, for decode_batch(). A part of what was opened.
};

// The hash by which the next entry names this one: its last eight bytes. 0: the entry is too short
// to have one.
uint64_t hash_of_entry(std::string_view entry);

// Returns an entry with this batch that follows the entry with hash `previous`. 0: it is the first.
std::string chain_entry(std::string_view batch, uint64_t previous);

// Returns the parts of an entry, chained or not. The batch may still be damaged, or unknown.
// Corruption: the hash of a chained entry does not fit.
Result<Entry> open_entry(std::string_view entry);
// Returns the batch of an entry, as decode_batch() does: its bodies are views of `entry`.
Result<Batch> decode_entry(std::string_view entry);

}  // namespace perennial::store::cluster
