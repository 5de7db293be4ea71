#pragma once

#include <string>
#include <string_view>

#include "engine/types/status.h"
#include "store/checkpoint/checkpoint.h"

// Converts manifest.json to text and back.
namespace perennial::store {

// Returns the text of the manifest. It ends with a hash of all bytes before the hash.
std::string render(const CheckpointManifest& manifest);
// Corruption: the text is not what render() made. Unsupported: a newer program wrote it.
Result<CheckpointManifest> parse_manifest(std::string_view text);

}  // namespace perennial::store
