#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

// One record of RocksDB's MANIFEST: db/version_edit.cc there. Included by store's own files only.
namespace perennial::store {

// The fields of a record that concern families and log files.
struct ManifestEdit {
  uint32_t family = 0;
  bool adds_family = false;
  std::string_view family_name = {};  // The name of the added family; points into the record.
  bool drops_family = false;
  std::optional<uint64_t> log;  // The family's log number.
  std::optional<uint64_t> min_log;
  std::optional<uint64_t> next_file;
};

// None: the record has a field that RocksDB 7.8 never writes with our options. Skipping such a
// field is rejected, because it may change what the numbers mean.
std::optional<ManifestEdit> decode_manifest_edit(std::string_view record);

}  // namespace perennial::store
