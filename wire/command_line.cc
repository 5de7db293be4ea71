#include "wire/command_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>

#include "wire/arguments.h"
#include "wire/line.h"

namespace perennial::wire {
namespace {

constexpr Malformed bad_format{Malformed::Kind::BadFormat};
constexpr Malformed unknown{Malformed::Kind::UnknownCommand};

// The bytes that the name of a tube may contain.
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

// Removes all arguments of a row from the front, in the order of the row.
template <typename C>
bool take_arguments(std::string_view& args, C& command) {
  return std::apply([&](const auto&... each) { return (take(args, command.*each.member) && ...); },
                    command_row<C>().arguments);
}

// Removes all options of a row, behind the arguments. Where extensions are off there are no
// options, and the line must be at its end.
template <typename C>
bool take_options(std::string_view& args, C& command, ExtensionSet allowed) {
  if (!allowed.allows(Extension::Probe)) return args.empty();
  return wire::take_options(args, command, allowed, command_row<C>().options);
}

bool is_allowed(const PriorityOrKeep& priority, ExtensionSet allowed) {
  return priority.priority || allowed.allows(Extension::KeepPriority);
}

// Parses the arguments and options of a command from what follows its prefix, by the common rule.
// The overloads below are the exceptions: one for each row with a grammar of its own.
template <typename C>
Command parse(std::type_identity<C>, std::string_view args, ExtensionSet allowed) {
  static_assert(!command_row<C>().flags.own_grammar, "it has no overload here");
  C command{};
  if (!take_arguments(args, command) || !take_options(args, command, allowed)) return bad_format;
  if constexpr (requires { command.priority.priority; }) {
    if (!is_allowed(command.priority, allowed)) return bad_format;
  }
  return command;
}

Command parse(std::type_identity<Release>, std::string_view args, ExtensionSet allowed) {
  Release release{};
  const bool is_good = take(args, release.id) && take(args, release.priority) &&
                       is_allowed(release.priority, allowed) &&
                       take_split(args, allowed, release.delay_s, release.delay_rest_ns);
  if (!is_good || !take_options(args, release, allowed)) return bad_format;
  return release;
}

bool holds_colon(std::string_view text) {
  return text.find(':') != std::string_view::npos;
}

// What follows the number is not checked, as in every version of beanstalkd. But where extensions
// are on, a colon in it means that it is options.
Command parse(std::type_identity<ReserveWithTimeout>, std::string_view args, ExtensionSet allowed) {
  ReserveWithTimeout reserve{};
  if (!take_split(args, allowed, reserve.timeout_s, reserve.timeout_rest_ns)) return bad_format;
  if (reserve.timeout_s > std::numeric_limits<int32_t>::max()) return bad_format;
  const bool has_options = allowed.allows(Extension::Probe) && holds_colon(args);
  if (has_options && !take_options(args, reserve, allowed)) return bad_format;
  return reserve;
}

// A weight may follow the name.
Command parse(std::type_identity<Watch>, std::string_view args, ExtensionSet allowed) {
  Watch watch{};
  if (!take(args, watch.tube)) return bad_format;
  const bool has_weight = !args.empty();
  if (has_weight && (!allowed.allows(Extension::Weights) || !take(args, watch.weight))) {
    return bad_format;
  }
  if (!args.empty()) return bad_format;
  return watch;
}

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// As lenient as strtoul: any white space, a sign, and junk behind the digits. "-1" kicks all jobs,
// and only the low 32 bits count.
Command parse(std::type_identity<Kick>, std::string_view args, ExtensionSet /*allowed*/) {
  while (!args.empty() && is_blank(args.front())) args.remove_prefix(1);
  const bool negative = args.starts_with('-');
  if (negative || args.starts_with('+')) args.remove_prefix(1);
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(args.data(), args.data() + args.size(), count);
  if (error != std::errc()) return bad_format;
  return Kick{static_cast<uint32_t>(negative ? 0 - count : count)};
}

// Only here spaces before the name are skipped, and no space is required.
Command parse(std::type_identity<PauseTube>, std::string_view args, ExtensionSet allowed) {
  skip_spaces(args);
  const auto end = std::find_if_not(args.begin(), args.end(), is_name_byte);
  const std::string_view name = args.substr(0, static_cast<size_t>(end - args.begin()));
  args.remove_prefix(name.size());
  PauseTube pause{};
  const bool has_delay =
      !name.empty() && take_split(args, allowed, pause.delay_s, pause.delay_rest_ns);
  if (!has_delay || !args.empty()) return bad_format;
  if (!is_tube_name(name)) return Malformed{Malformed::Kind::BadPauseTube};
  pause.tube = name;
  return pause;
}

// Quit is never a bad format: "quitx" quits.
Command parse(std::type_identity<Quit>, std::string_view /*args*/, ExtensionSet /*allowed*/) {
  return Quit{};
}

// "bearer" before the token is taken, too, because another server's clients send it. Whether it is
// a token is judged later, so that a wrong one is UNAUTHORIZED, and not a bad format.
Command parse(std::type_identity<Auth>, std::string_view args, ExtensionSet /*allowed*/) {
  constexpr std::string_view bearer = "bearer ";
  if (args.starts_with(bearer)) args.remove_prefix(bearer.size());
  if (args.empty()) return bad_format;
  return Auth{std::string(args)};
}

// The time to wait may be left out, and is then 0.
Command parse(std::type_identity<ReserveBatch>, std::string_view args, ExtensionSet allowed) {
  ReserveBatch reserve{};
  if (!take(args, reserve.count)) return bad_format;
  const bool has_wait = args.size() > 1 && args[1] >= '0' && args[1] <= '9';
  if (has_wait && (!args.starts_with(' ') || !take(args, reserve.wait))) return bad_format;
  if (!take_options(args, reserve, allowed)) return bad_format;
  return reserve;
}

// A set-tube that sets nothing is a mistake.
Command parse(std::type_identity<SetTube>, std::string_view args, ExtensionSet allowed) {
  SetTube set{};
  if (!take(args, set.tube) || args.empty() || !take_options(args, set, allowed)) return bad_format;
  return set;
}

// "*" stands for all tubes. No tube can have that name.
Command parse(std::type_identity<ListJobs>, std::string_view args, ExtensionSet allowed) {
  ListJobs list{};
  if (args == "*" || args.starts_with("* ")) {
    args.remove_prefix(1);
  } else if (!take(args, list.tube)) {
    return bad_format;
  }
  if (!take_options(args, list, allowed)) return bad_format;
  // A key is a key of one tube.
  if (list.tube.empty() && !list.key.empty()) return bad_format;
  if (!list.states.are_ended) return list;
  // Those of a tube are in an order of their own, and none of them holds a key.
  const bool is_good = allowed.allows(Extension::Ended) && !list.tube.empty() && list.key.empty();
  return is_good ? Command(list) : Command(bad_format);
}

// A set-job that sets nothing is a mistake.
Command parse(std::type_identity<SetJob>, std::string_view args, ExtensionSet allowed) {
  SetJob set{};
  if (!take(args, set.id) || args.empty() || !take_options(args, set, allowed)) return bad_format;
  return set;
}

Command parse(std::type_identity<MoveTube>, std::string_view args, ExtensionSet allowed) {
  MoveTube move{};
  if (!take(args, move.from) || !args.starts_with(' ')) return bad_format;
  args.remove_prefix(1);
  if (!take(args, move.to) || !take_options(args, move, allowed)) return bad_format;
  // A reserved job has a worker, who may be about to delete it.
  if (move.from == move.to || move.states.holds(JobState::Reserved)) return bad_format;
  return move;
}

// Only buried and delayed jobs can be kicked.
Command parse(std::type_identity<KickTube>, std::string_view args, ExtensionSet allowed) {
  KickTube kick{};
  if (!take(args, kick.tube) || !take_options(args, kick, allowed)) return bad_format;
  const bool can_be_kicked =
      !kick.states.holds(JobState::Ready) && !kick.states.holds(JobState::Reserved);
  if (!can_be_kicked) return bad_format;
  return kick;
}

constexpr std::string_view temporary_argument = " temporary";

// Trailing junk is judged later, because the parser does not know whether this client may use the
// command.
Command parse(std::type_identity<Checkpoint>, std::string_view args, ExtensionSet /*allowed*/) {
  const bool temporary = args == temporary_argument;
  return Checkpoint{.temporary = temporary, .trailing_junk = !temporary && !args.empty()};
}

// The commands that are compared with a line, made from the table of commands. Candidates with the
// same first byte are adjacent. They are in the order of the table, but a prefix comes after all
// longer prefixes that begin with it, so the first match is the longest. Clients see the effect:
// "stats-foo" is a bad `stats`, and "delete" without its space is unknown.
struct Candidate {
  std::string_view prefix;
  // Called with what follows the prefix.
  Command (*parse)(std::string_view args, ExtensionSet allowed);
  std::optional<Extension> extension;
  bool may_be_long;  // Its line may have more than line_bytes_max bytes.
};

template <typename C>
Command parse_as(std::string_view args, ExtensionSet allowed) {
  return parse(std::type_identity<C>(), args, allowed);
}

// Whether a line of this command may be long. A command of beanstalkd's that takes no options has
// no use for a long line. beanstalkd answers BAD_FORMAT, even where the command ignores its tail.
template <typename C>
constexpr bool may_be_long() {
  constexpr auto row = command_row<C>();
  return row.flags.extension.has_value() || std::tuple_size_v<decltype(row.options)> > 0;
}

constexpr size_t first_byte(std::string_view text) {
  return static_cast<unsigned char>(text.front());
}

using Candidates = std::array<Candidate, commands_count>;

struct Dispatch {
  Candidates candidates = {};
  // The first candidate for each first byte, and the end of the last.
  std::array<uint8_t, 257> begin = {};
};

constexpr void insert(Candidates& all, size_t& count, const Candidate& added) {
  size_t at = 0;
  while (at < count && !added.prefix.starts_with(all[at].prefix)) ++at;
  for (size_t moved = count++; moved > at; --moved) all[moved] = all[moved - 1];
  all[at] = added;
}

constexpr Dispatch make_dispatch() {
  Candidates all = {};
  size_t count = 0;
  for_each_command([&]<typename Row>(const Row& row) {
    using C = typename Row::Type;
    if constexpr (!command_row<C>().flags.has_body) {
      insert(all, count, {row.prefix, parse_as<C>, row.flags.extension, may_be_long<C>()});
    }
  });
  Dispatch made;
  uint8_t placed = 0;
  for (size_t byte = 0; byte < 256; ++byte) {
    made.begin[byte] = placed;
    for (size_t at = 0; at < count; ++at) {
      if (first_byte(all[at].prefix) == byte) made.candidates[placed++] = all[at];
    }
  }
  made.begin[256] = placed;
  return made;
}
constexpr Dispatch dispatch = make_dispatch();

}  // namespace

namespace {

// Removes the four numbers of a put, or of the put of a schedule.
template <typename C>
bool take_put(std::string_view& args, C& put, ExtensionSet allowed) {
  uint32_t delay_rest_ns = 0;
  uint32_t ttr_rest_ns = 0;
  const bool is_good =
      take(args, put.priority) && take_split(args, allowed, put.delay_s, delay_rest_ns) &&
      take_split_ttr(args, allowed, put.ttr_s, ttr_rest_ns) && take(args, put.body_bytes);
  if (!is_good) return false;
  if (delay_rest_ns == 0 && ttr_rest_ns == 0) return true;
  PutOptions& options = put.options.make();
  options.delay_rest_ns = delay_rest_ns;
  options.ttr_rest_ns = ttr_rest_ns;
  return true;
}

// Takes whatever looks like an option for a bad one.
LineTail tail_of(std::string_view args, ExtensionSet allowed) {
  if (args.empty()) return LineTail::Nothing;
  const bool has_options = allowed.allows(Extension::Probe) && holds_colon(args);
  return has_options ? LineTail::BadOptions : LineTail::Junk;
}

// Whether the options of a put go together.
bool are_consistent(const PutOptions& options) {
  if (!options.until) return true;
  const bool needs_seconds = *options.until == KeyUntil::Ttl;
  return options.key && (options.key->seconds > 0 || !needs_seconds);
}

// Whether the options of a schedule do: it has times of one kind.
bool are_consistent(const ScheduleOptions& options) {
  const bool is_every = options.every.nanos > 0;
  const bool is_cron = !options.cron.expression.empty();
  const int kinds = int{is_every} + int{is_cron} + int{options.at.has_value()};
  return kinds == 1 && (is_every || !options.anchor) && (is_cron || options.zone.empty()) &&
         are_consistent(static_cast<const PutOptions&>(options));
}

}  // namespace

std::optional<PutLine> parse_put_line(std::string_view args, ExtensionSet allowed) {
  Put put{};
  if (!take_put(args, put, allowed)) return std::nullopt;
  const LineTail tail = tail_of(args, allowed);
  if (tail != LineTail::BadOptions) return PutLine{std::move(put), tail};
  const bool is_good =
      take_options(args, put, allowed) && (!put.options || are_consistent(*put.options));
  return PutLine{std::move(put), is_good ? LineTail::Nothing : LineTail::BadOptions};
}

std::optional<PutBatchLine> parse_put_batch_line(std::string_view args, ExtensionSet allowed) {
  uint64_t count = 0;
  PutBatchLine line{};
  if (!take(args, count) || !take(args, line.bytes)) return std::nullopt;
  PutBatch& batch = line.batch;
  batch.count.value = count;
  line.is_good = count >= 1 && count <= batch_count_max && take_options(args, batch, allowed);
  return line;
}

std::optional<NoteLine> parse_note_line(std::string_view args, ExtensionSet allowed) {
  NoteLine line{};
  if (!take(args, line.id) || !take(args, line.bytes)) return std::nullopt;
  line.tail = tail_of(args, allowed);
  return line;
}

std::optional<ScheduleLine> parse_schedule_line(std::string_view args, ExtensionSet allowed) {
  ScheduleLine line{};
  SetSchedule& set = line.set;
  // A name that is none does not hide where the body ends.
  const std::string_view name = args.substr(0, args.find(' '));
  args.remove_prefix(name.size());
  if (!take_put(args, set, allowed)) return std::nullopt;
  set.name = std::string(name);
  const bool is_good = is_tube_name(name) && take_options(args, set, allowed) && set.options &&
                       are_consistent(*set.options);
  line.tail = is_good ? LineTail::Nothing : LineTail::BadOptions;
  return line;
}

bool may_be_long(std::string_view head, ExtensionSet allowed) {
  if (!allowed.allows(Extension::Probe)) return false;
  bool may_be = holds_colon(head);
  for_each_command([&](const auto& row) {
    const std::optional<Extension> extension = row.flags.extension;
    may_be |= extension && allowed.allows(extension) && head.starts_with(row.prefix);
  });
  return may_be;
}

Command parse_command_line(std::string_view line, ExtensionSet allowed) {
  if (line.empty()) return unknown;
  const bool is_long = line.size() + 2 > line_bytes_max;
  const size_t end = dispatch.begin[first_byte(line) + 1];
  for (size_t at = dispatch.begin[first_byte(line)]; at < end; ++at) {
    const Candidate& candidate = dispatch.candidates[at];
    if (line.starts_with(candidate.prefix) && allowed.allows(candidate.extension)) {
      if (is_long && !candidate.may_be_long) return bad_format;
      return candidate.parse(line.substr(candidate.prefix.size()), allowed);
    }
  }
  return is_long ? bad_format : unknown;
}

bool is_tube_name(std::string_view name) {
  if (name.empty() || name.size() > tube_name_bytes_max || name.front() == '-') return false;
  return std::all_of(name.begin(), name.end(), is_name_byte);
}

}  // namespace perennial::wire
