#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <variant>

#include "engine/types/basic.h"
#include "engine/types/command_row.h"

// What a client asks for: one struct per command of the protocol, one per way of refusing a line,
// and the table of commands. A refused line is a command too, because the engine counts it, takes
// the id that it may cost, and replies to it in its turn. Durations are whole seconds, as on the
// wire.
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
struct PutTooBig {
  using CountsAs = Put;
};
// A put whose header has something behind its last number. Counts as cmd-put, answers BAD_FORMAT,
// and its body, not swallowed, is read as the next command.
struct PutTrailingJunk {
  using CountsAs = Put;
};
// A put whose body is not followed by CRLF. Costs an id.
struct PutNoCrlf {
  using CountsAs = Put;
};

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

// One row per command: what its line begins with, the key of its counter in `stats`, its flags and
// its arguments. Parser, client, counters, `stats` and the test of wire/README.md read it. In the
// order of the keys in `stats`. The longest prefix that a line begins with decides.
// clang-format off
inline constexpr std::tuple command_rows{
    command<Put>("put ", "cmd-put", {.has_body = true, .adds_jobs = true},
                 arg("pri", &Put::priority), arg("delay", &Put::delay_s), arg("ttr", &Put::ttr_s),
                 arg("bytes", &Put::body_bytes)),
    command<Peek>("peek ", "cmd-peek", {}, arg("id", &Peek::id)),
    command<PeekReady>("peek-ready", "cmd-peek-ready", {}),
    command<PeekDelayed>("peek-delayed", "cmd-peek-delayed", {}),
    command<PeekBuried>("peek-buried", "cmd-peek-buried", {}),
    command<Reserve>("reserve", "cmd-reserve", {}),
    command<ReserveWithTimeout>("reserve-with-timeout ", "cmd-reserve-with-timeout",
                                {.own_grammar = true},
                                arg("seconds", &ReserveWithTimeout::timeout_s)),
    command<ReserveJob>("reserve-job ", "", {}, arg("id", &ReserveJob::id)),
    command<Delete>("delete ", "cmd-delete", {}, arg("id", &Delete::id)),
    command<Release>("release ", "cmd-release", {}, arg("id", &Release::id),
                     arg("pri", &Release::priority), arg("delay", &Release::delay_s)),
    command<Use>("use ", "cmd-use", {}, arg("tube", &Use::tube)),
    command<Watch>("watch ", "cmd-watch", {}, arg("tube", &Watch::tube)),
    command<Ignore>("ignore ", "cmd-ignore", {}, arg("tube", &Ignore::tube)),
    command<Bury>("bury ", "cmd-bury", {}, arg("id", &Bury::id), arg("pri", &Bury::priority)),
    command<Kick>("kick ", "cmd-kick", {.own_grammar = true, .many_jobs = true},
                  arg("n", &Kick::bound)),
    command<KickJob>("kick-job ", "", {}, arg("id", &KickJob::id)),
    command<Touch>("touch ", "cmd-touch", {}, arg("id", &Touch::id)),
    command<Stats>("stats", "cmd-stats", {}),
    command<StatsJob>("stats-job ", "cmd-stats-job", {}, arg("id", &StatsJob::id)),
    command<StatsTube>("stats-tube ", "cmd-stats-tube", {}, arg("tube", &StatsTube::tube)),
    command<ListTubes>("list-tubes", "cmd-list-tubes", {}),
    command<ListTubeUsed>("list-tube-used", "cmd-list-tube-used", {}),
    command<ListTubesWatched>("list-tubes-watched", "cmd-list-tubes-watched", {}),
    command<PauseTube>("pause-tube", "cmd-pause-tube", {.own_grammar = true},
                       arg("tube", &PauseTube::tube), arg("seconds", &PauseTube::delay_s)),
    command<Quit>("quit", "", {.own_grammar = true, .in_core = true}),
    command<Checkpoint>("checkpoint", "",
                        {.own_grammar = true, .ours = true, .in_core = true}),
};
// clang-format on

inline constexpr size_t commands_count = std::tuple_size_v<decltype(command_rows)>;

// The row of a command.
template <typename C>
constexpr const auto& command_row() {
  return std::get<row_index<C>(command_rows)>(command_rows);
}

// Whether it is no command of the table, but a line that was refused.
template <typename C>
inline constexpr bool is_refused = row_index<C>(command_rows) == commands_count;

// Calls `function` with each row, in their order.
template <typename Function>
constexpr void for_each_command(Function&& function) {
  std::apply([&](const auto&... rows) { (function(rows), ...); }, command_rows);
}

template <typename... Refused>
struct WithCommands {
  template <typename... Rows>
  static std::variant<typename Rows::Type..., Refused...> variant_of(const std::tuple<Rows...>&);
};
// One of the table, or a line that was refused.
using Command = decltype(WithCommands<PutTooBig, PutTrailingJunk, PutNoCrlf, Malformed>::variant_of(
    command_rows));

}  // namespace perennial
