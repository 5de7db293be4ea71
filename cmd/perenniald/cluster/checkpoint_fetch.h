#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/types/status.h"

namespace perennial::perenniald {

struct FetchOptions {
  std::string url;           // "http://HOST:PORT/cluster/checkpoint", or https.
  std::string ca_file = {};  // In PEM, for https. Empty: the system's authorities.
  std::string token = {};    // Of a user of the other node. Empty: none.
  std::string to;            // A directory that does not exist, in one that does.
  // So long without a byte fails. The first may take longer, because the other node reads all of
  // its data before it sends any.
  int64_t stall_s = 30;
  int64_t first_s = 600;
  std::function<bool()> cancelled = {};  // Looked at several times a second.
};

// Gets a checkpoint from another node and makes `to` of it, whose files are durable. It trusts
// nothing that it is sent: it takes the manifest first, then the files that this lists, each once
// and with the size that this says. Their content is for verify_checkpoint() to judge. After an
// error `to` does not exist. Io: the node cannot be reached, refuses or falls silent, or it was
// cancelled. Corruption: what was sent is no checkpoint, or not the whole. NoSpace: this disk is
// full.
Status fetch_checkpoint(const FetchOptions& options);

}  // namespace perennial::perenniald
