#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cmd/common/peer/peer_access.h"
#include "cmd/perenniald/snapshot/copied_files.h"
#include "engine/types/status.h"
#include "store/checkpoint/checkpoint.h"

namespace perennial::perenniald {

struct FetchOptions {
  std::string url;  // "http://HOST:PORT/cluster/checkpoint", or https.
  common::PeerAccess access = {};
  std::string to;  // A directory that does not exist, in one that does.
  // The download fails after so many seconds without a byte. The first byte may take longer,
  // because the other node makes the checkpoint before it sends anything.
  int64_t stall_s = 30;
  int64_t first_s = 90;
  std::function<bool()> cancelled = {};  // Called several times a second.
  // Called with each piece: how many bytes of the files have come, and how many there are.
  std::function<void(uint64_t received, uint64_t bytes)> progress = {};
};

// A checkpoint that has come from another node. Its files are those that the manifest lists, with
// these hashes. They are not durable yet: files.sync(), and their directories.
struct FetchedCheckpoint {
  store::CheckpointManifest manifest;
  CopiedFiles files;
};

// Gets a checkpoint from another node and makes `to` of it, with all files in `to`/db. It trusts
// nothing that it is sent: it takes the manifest first, then the files that this lists, each once
// and with the size that this says, and in the end the manifest again with the hashes that the
// files must have. RocksDB's checksums of each table are read while the next one comes, because the
// other node may not have read them. The rows are not verified yet: verify_rows(). After an error
// `to` does not exist. Io: the node cannot be reached, refuses or falls silent, or it was
// cancelled. Corruption: what was sent is no checkpoint, is damaged, or not the whole. Unsupported:
// only a newer program reads it. NoSpace: this disk is full. InvalidArgument: there is no token to
// show.
Result<FetchedCheckpoint> fetch_checkpoint(const FetchOptions& options);

}  // namespace perennial::perenniald
