#pragma once

#include <string>
#include <string_view>

#include "engine/types/status.h"
#include "store/checkpoint/checkpoint.h"

// manifest.json, to text and back. Included by store's own files only.
namespace perennial::store {

// It ends with a hash of all that comes before.
std::string render(const CheckpointManifest& manifest);
// Corruption: the text is not what render() made. Unsupported: a newer program's render() did.
Result<CheckpointManifest> parse_manifest(std::string_view text);

}  // namespace perennial::store
