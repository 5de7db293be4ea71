#include "wire/command_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>

namespace perennial::wire {
namespace {

constexpr Malformed bad_format{Malformed::Kind::BadFormat};

// Which bytes may stand in the name of a tube.
constexpr std::array<bool, 256> make_name_bytes() {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789-+/;.$_()")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}
constexpr std::array<bool, 256> name_bytes = make_name_bytes();

bool is_name_byte(char c) {
  return name_bytes[static_cast<unsigned char>(c)];
}

void skip_spaces(std::string_view& args) {
  while (args.starts_with(' ')) args.remove_prefix(1);
}

// Takes a number off the front: any spaces, then digits and nothing else, not even a sign.
template <typename Number>
bool take(std::string_view& args, Number& number) {
  skip_spaces(args);
  const auto [end, error] = std::from_chars(args.data(), args.data() + args.size(), number);
  if (error != std::errc()) return false;
  args.remove_prefix(static_cast<size_t>(end - args.data()));
  return true;
}

// The commands that take one id and nothing else.
template <typename OfId>
Command with_id(std::string_view args) {
  JobId id = 0;
  if (!take(args, id) || !args.empty()) return bad_format;
  return OfId{id};
}

// The commands that take one name. No space is skipped here, unlike before a number.
template <typename OfTube>
Command with_tube(std::string_view args) {
  if (!is_tube_name(args)) return bad_format;
  return OfTube{std::string(args)};
}

// The commands that take nothing, and whose prefix matches longer words too.
template <typename Bare>
Command bare(std::string_view args) {
  if (!args.empty()) return bad_format;
  return Bare{};
}

// What follows the number is not looked at, as in every version of beanstalkd.
Command reserve_with_timeout(std::string_view args) {
  uint32_t timeout_s = 0;
  if (!take(args, timeout_s)) return bad_format;
  if (timeout_s > std::numeric_limits<int32_t>::max()) return bad_format;
  return ReserveWithTimeout{timeout_s};
}

Command release(std::string_view args) {
  Release parsed{};
  const bool good =
      take(args, parsed.id) && take(args, parsed.priority) && take(args, parsed.delay_s);
  if (!good || !args.empty()) return bad_format;
  return parsed;
}

Command bury(std::string_view args) {
  Bury parsed{};
  if (!take(args, parsed.id) || !take(args, parsed.priority) || !args.empty()) return bad_format;
  return parsed;
}

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Lenient as strtoul is: any white space, a sign, and junk behind the digits. "-1" kicks all, and
// only the low 32 bits count.
Command kick(std::string_view args) {
  while (!args.empty() && is_blank(args.front())) args.remove_prefix(1);
  const bool negative = args.starts_with('-');
  if (negative || args.starts_with('+')) args.remove_prefix(1);
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(args.data(), args.data() + args.size(), count);
  if (error != std::errc()) return bad_format;
  return Kick{static_cast<uint32_t>(negative ? 0 - count : count)};
}

// Spaces before the name are skipped here alone, and none is needed.
Command pause_tube(std::string_view args) {
  skip_spaces(args);
  const auto end = std::find_if_not(args.begin(), args.end(), is_name_byte);
  const std::string_view name = args.substr(0, static_cast<size_t>(end - args.begin()));
  args.remove_prefix(name.size());
  uint32_t delay_s = 0;
  if (name.empty() || !take(args, delay_s) || !args.empty()) return bad_format;
  if (!is_tube_name(name)) return Malformed{Malformed::Kind::BadPauseTube};
  return PauseTube{std::string(name), delay_s};
}

// Never a bad format: "quitx" quits.
Command quit(std::string_view /*args*/) {
  return Quit{};
}

constexpr std::string_view temporary_argument = " temporary";

// What else follows is looked at later: whether this client may know the command is not known here.
Command checkpoint(std::string_view args) {
  const bool temporary = args == temporary_argument;
  return Checkpoint{.temporary = temporary, .trailing_junk = !temporary && !args.empty()};
}

struct Row {
  std::string_view prefix;
  Command (*parse)(std::string_view args);  // Gets what follows the prefix.
};

// The first prefix that matches decides, so a longer one stands before its own beginning. What
// clients see of this: "stats-foo" is a bad `stats`, and "delete" without its space is unknown.
constexpr Row rows[] = {
    {"peek ", with_id<Peek>},
    {"peek-ready", bare<PeekReady>},
    {"peek-delayed", bare<PeekDelayed>},
    {"peek-buried", bare<PeekBuried>},
    {"reserve-with-timeout ", reserve_with_timeout},
    {"reserve-job ", with_id<ReserveJob>},
    {"reserve", bare<Reserve>},
    {"delete ", with_id<Delete>},
    {"release ", release},
    {"bury ", bury},
    {"kick ", kick},
    {"kick-job ", with_id<KickJob>},
    {"touch ", with_id<Touch>},
    {"stats-job ", with_id<StatsJob>},
    {"stats-tube ", with_tube<StatsTube>},
    {"stats", bare<Stats>},
    {"use ", with_tube<Use>},
    {"watch ", with_tube<Watch>},
    {"ignore ", with_tube<Ignore>},
    {"list-tubes-watched", bare<ListTubesWatched>},
    {"list-tube-used", bare<ListTubeUsed>},
    {"list-tubes", bare<ListTubes>},
    {"quit", quit},
    {"pause-tube", pause_tube},
    {"checkpoint", checkpoint},
};

}  // namespace

std::optional<PutLine> parse_put_line(std::string_view args) {
  Put put{};
  const bool good = take(args, put.priority) && take(args, put.delay_s) && take(args, put.ttr_s) &&
                    take(args, put.body_bytes);
  if (!good) return std::nullopt;
  return PutLine{put, !args.empty()};
}

Command parse_command_line(std::string_view line) {
  for (const Row& row : rows) {
    if (line.starts_with(row.prefix)) return row.parse(line.substr(row.prefix.size()));
  }
  return Malformed{Malformed::Kind::UnknownCommand};
}

bool is_tube_name(std::string_view name) {
  if (name.empty() || name.size() > tube_name_bytes_max || name.front() == '-') return false;
  return std::all_of(name.begin(), name.end(), is_name_byte);
}

}  // namespace perennial::wire
