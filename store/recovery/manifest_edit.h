#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

// One record of RocksDB's MANIFEST: db/version_edit.cc there. Included by store's own files only.
namespace perennial::store {

// Of a record, what says something of families and log files.
struct ManifestEdit {
  uint32_t family = 0;
  bool adds_family = false;
  std::string_view family_name = {};  // Of the one that it adds; a part of the record.
  bool drops_family = false;
  std::optional<uint64_t> log;  // The family's.
  std::optional<uint64_t> min_log;
  std::optional<uint64_t> next_file;
};

// Nothing if it has a field that RocksDB 7.8 does not write for us.
std::optional<ManifestEdit> decode_manifest_edit(std::string_view record);

}  // namespace perennial::store
