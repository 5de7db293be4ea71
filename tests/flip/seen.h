#pragma once

#include <map>
#include <string>

#include "engine/types/status.h"
#include "store/format/format.h"
#include "tests/store/store_model.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

// What a Reader finds in a data directory, damaged or not.
namespace perennial::store {

struct Seen {
  Status opened;
  CommitRow commit;
  JobId next_id = 0;
  Result<Image> image = Image();
  Status missing;              // Says which ended jobs are missing in the image.
  std::string damaged_bodies;  // The ids of the damaged bodies.
  bool has_changed = false;    // Whether the directory changed while it was read.
};

// `env`: the file system, the machine's if null.
Seen look_at(const std::string& path, rocksdb::Env* env = nullptr);

// What damage costs a start of ended jobs, and not a reader: those of which only the place or the
// body is lost are found by their own rows.
struct EndedLost {
  std::map<JobId, EndedJob> with_row = {};
  std::string table = {};  // With a damaged block of `ended`, which a reader names. Empty: none.
};

// Describes how a later start differs, or returns an empty string. `found` and `damaged_bodies` are
// what the start has loaded and read.
std::string difference(const Seen& seen, const Opening& opening, const Result<Image>& found,
                       const std::string& damaged_bodies, const EndedLost& lost = {});
// The same for a start that was refused.
std::string difference(const Seen& seen, const Status& refused);

}  // namespace perennial::store
