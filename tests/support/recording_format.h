#pragma once

#include <cstdint>

// The file that record_writes.cc writes: events, each with its path and its data behind it.
namespace perennial::support {

enum class EventKind : uint32_t {
  Begin,      // A process begins. Handles and connections of the one before are gone.
  Create,     // `handle` is open on a new file at `path`.
  Open,       // `handle` is open on the file or directory at `path`, which exists.
  Close,      // `handle` is closed.
  Write,      // `data` is at `offset` now.
  Resize,     // The file is `length` bytes long now.
  Allocate,   // The file is at least `length` bytes long now; `offset` is not used.
  SyncBegin,  // A sync of `handle` begins. `offset` is its number.
  SyncEnd,    // That sync has succeeded.
  Rename,     // `path` is now called as `data` says.
  Link,       // `data` is a new name of the file at `path`.
  Remove,     // The name `path` of a file, or the empty directory, is gone.
  MakeDir,
  Accept,    // `handle` is a new connection of a client.
  Received,  // `data` came from the client of connection `handle`.
  Sent,      // `data` went to it.
};

// Paths are relative to the directory that is recorded, which is "" itself.
struct EventHead {
  EventKind kind = EventKind::Begin;
  uint32_t handle = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
  uint32_t path_bytes = 0;
  uint32_t data_bytes = 0;
};

}  // namespace perennial::support
