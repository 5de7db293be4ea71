#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/common/tool/server_connection.h"
#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/arguments/consent.h"
#include "cmd/perennial/checkpoints/checkpoint_place.h"
#include "engine/types/status.h"

// Subcommands about checkpoints, and what those do that tests call.
namespace perennial::tool {

Subcommand checkpoint_create_command();
Subcommand checkpoint_list_command();
Subcommand checkpoint_verify_command();
Subcommand checkpoint_prune_command();
Subcommand restore_command();

struct CheckpointCreateOptions {
  ServerAddress server = {};
  bool json = false;
};

// perennial checkpoint create: prints the path of the checkpoint. Errors: those of
// request_checkpoint().
Status checkpoint_create(const CheckpointCreateOptions& options);

struct CheckpointListOptions {
  CheckpointPlace place;
  bool json = false;
};
struct CheckpointVerifyOptions {
  std::vector<std::string> paths;
  bool json = false;
};

// Each prints its result to standard output.
Status checkpoint_list(const CheckpointListOptions& options);
Status checkpoint_verify(const CheckpointVerifyOptions& options);

struct CheckpointPruneOptions {
  CheckpointPlace place;
  uint64_t keep = 0;
  Consent consent = {};
};

// perennial checkpoint prune: removes old and partial checkpoints of one data directory, or of each
// database in a directory separately. Asks before, and prints what it removed. Fails as decide()
// does, too.
Status checkpoint_prune(const CheckpointPruneOptions& options);

struct RestoreOptions {
  std::string from;  // A checkpoint.
  std::string to;    // A data directory that does not exist yet.
  bool exact = false;
  // How far the next id is moved on. None: as the age of the checkpoint asks for.
  std::optional<uint64_t> id_gap = {};
  bool copy = false;
  std::string schedules = "paused";  // Or "active".
  bool json = false;
};

// perennial restore: makes a new data directory from a checkpoint. Prints its content to standard
// output.
Status restore(const RestoreOptions& options);

}  // namespace perennial::tool
