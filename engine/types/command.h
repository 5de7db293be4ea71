#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "engine/types/basic.h"

// What a client asks for: one struct per command of the protocol, and one per way of refusing a
// line. A refused line is a command too, because the engine counts it, takes the id that it may
// cost, and replies to it in its turn. Durations are whole seconds, as on the wire.
namespace perennial {

// The body, complete and followed by CRLF, travels beside the command; the engine sees its size
// only.
struct Put {
  uint32_t priority;  // 0 is the most urgent.
  uint32_t delay_s;
  uint32_t ttr_s;  // As sent: the engine makes 0 into 1. protocol.txt, "put".
  uint32_t body_bytes;
};
// A put whose body is over job_bytes_max. Its body and CRLF have been read and dropped. Costs no
// id.
struct PutTooBig {};
// A put whose header has something behind its last number. Counts as cmd-put, answers BAD_FORMAT,
// and its body, not swallowed, is read as the next command.
struct PutTrailingJunk {};
// A put whose body is not followed by CRLF. Costs an id.
struct PutNoCrlf {};

struct Use {
  std::string tube;
};
struct Reserve {};
struct ReserveWithTimeout {
  uint32_t timeout_s;  // At most 2^31 - 1.
};
struct ReserveJob {
  JobId id;
};
struct Delete {
  JobId id;
};
struct Release {
  JobId id;
  uint32_t priority;
  uint32_t delay_s;
};
struct Bury {
  JobId id;
  uint32_t priority;
};
struct Touch {
  JobId id;
};
struct Watch {
  std::string tube;
};
struct Ignore {
  std::string tube;
};
struct Peek {
  JobId id;
};
struct PeekReady {};
struct PeekDelayed {};
struct PeekBuried {};
struct Kick {
  uint32_t bound;
};
struct KickJob {
  JobId id;
};
struct StatsJob {
  JobId id;
};
struct StatsTube {
  std::string tube;
};
struct Stats {};
struct ListTubes {};
struct ListTubeUsed {};
struct ListTubesWatched {};
struct PauseTube {
  std::string tube;
  uint32_t delay_s;
};
struct Quit {};
// Not beanstalkd's: make a checkpoint. From a client that may not ask for one it is an unknown
// command, whatever follows it on its line, so that nobody can tell.
struct Checkpoint {
  // For this connection alone, and removed with it.
  bool temporary = false;
  bool trailing_junk = false;  // Then it is a bad format, for those who may ask.
};

// A line that is no command: over-long, with a NUL byte, with a bad number or name, or unknown.
struct Malformed {
  enum class Kind : uint8_t {
    BadFormat,
    // A bad format that counts as a pause-tube: beanstalkd counts it before it looks at the length
    // and the first byte of the name.
    BadPauseTube,
    UnknownCommand
  };
  Kind kind;
};

using Command =
    std::variant<Put, PutTooBig, PutTrailingJunk, PutNoCrlf, Use, Reserve, ReserveWithTimeout,
                 ReserveJob, Delete, Release, Bury, Touch, Watch, Ignore, Peek, PeekReady,
                 PeekDelayed, PeekBuried, Kick, KickJob, StatsJob, StatsTube, Stats, ListTubes,
                 ListTubeUsed, ListTubesWatched, PauseTube, Quit, Checkpoint, Malformed>;

}  // namespace perennial
