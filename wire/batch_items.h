#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/types/body.h"
#include "engine/types/command.h"

namespace perennial::wire {

// What an item of a put-batch may be.
struct ItemLimits {
  uint32_t job_bytes_max;
  ExtensionSet allowed;
};

// Parses the items of a put-batch: batch.count times a put's line without its word, CRLF and a
// body, with CRLF between two items. Appends to batch.items and to `bodies`. Returns why the batch
// is refused, or nothing; after a refusal both hold the items before the bad one.
std::optional<PutBatchRefused::Why> parse_items(std::string_view text, const ItemLimits& limits,
                                                PutBatch& batch, std::vector<Body>& bodies);

}  // namespace perennial::wire
