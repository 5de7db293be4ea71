#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/stats.h"

// What a client is answered. Exactly one Reply belongs to each Command but quit, in the order of
// the commands of one connection. wire turns it into bytes.
namespace perennial {

// The replies that are one fixed line.
enum class Word : uint8_t {
  Deleted,
  Released,
  Buried,
  Touched,
  Kicked,  // kick-job's. kick's has a count: KickedCount.
  Paused,
  NotFound,
  NotIgnored,
  TimedOut,
  DeadlineSoon,
  Draining,
  ExpectedCrlf,
  JobTooBig,
  OutOfMemory,
  InternalError,
  BadFormat,
  UnknownCommand,
};

// The replies that are a word and one number.
struct Inserted {
  static constexpr std::string_view word = "INSERTED";
  JobId id;
};
// "BURIED <id>", beanstalkd's answer to a put that it could not queue. This server never sends it;
// its clients must understand it.
struct InsertedBuried {
  static constexpr std::string_view word = "BURIED";
  JobId id;
};
struct Watching {
  static constexpr std::string_view word = "WATCHING";
  uint64_t count;
};
struct KickedCount {
  static constexpr std::string_view word = "KICKED";
  uint64_t count;
};

struct Using {
  std::string tube;
};
// RESERVED or FOUND, and the body of that job. The body is found by id: the engine never has its
// bytes.
struct JobReply {
  enum class Kind : uint8_t { Reserved, Found };
  Kind kind;
  JobId id;
  uint32_t body_bytes;
};
struct TubeNames {
  std::vector<std::string> names;
};
// How long a listing is, before it is made.
struct NamesSize {
  size_t count = 0;
  size_t bytes = 0;  // Of the names alone, all together.
};

// The answers to checkpoint. The first is "OK <bytes>" and YAML, the second "FAILED <bytes>" and
// YAML; both are core's.
struct CheckpointMade {
  std::string name;
  std::string path;       // Absolute.
  BatchIndex commit = 0;  // The last batch that is in.
  uint64_t jobs = 0;
  std::optional<uint64_t> bytes = {};  // Of all its files. None: temporary, they are not counted.
  uint64_t took_ms = 0;  // From the cut until it was verified, or how long a temporary cut took.
};
struct CheckpointFailed {
  std::string reason;
};

// The large ones are boxed, so that the small ones, which are nearly all, move cheaply.
using Reply = std::variant<Word, Inserted, InsertedBuried, Using, Watching, KickedCount, JobReply,
                           std::unique_ptr<TubeNames>, std::unique_ptr<JobStats>,
                           std::unique_ptr<TubeStats>, std::unique_ptr<EngineStats>,
                           std::unique_ptr<CheckpointMade>, std::unique_ptr<CheckpointFailed>>;

}  // namespace perennial
