#include "tests/wire/describe.h"

#include <fmt/format.h>

#include "engine/types/check.h"
#include "wire/client.h"
#include "wire/parser.h"

namespace perennial::wire {
namespace {

struct Describer {
  std::string_view body;

  // Describes a command without an overload below: by the line that a client sends.
  template <typename C>
  std::string operator()(const C& command) const {
    std::string line;
    append_command(line, command);
    return line.substr(0, line.size() - 2);
  }

  // An item is described by its body alone.
  std::string operator()(const PutBatch& batch) const {
    std::string text = fmt::format("put-batch {}", batch.items.size());
    if (!batch.tube.empty()) text += " tube:" + batch.tube;
    return text + " bodies=" + std::string(body);
  }
  std::string operator()(const PutBatchRefused& refused) const {
    switch (refused.why) {
      case PutBatchRefused::Why::BadFormat:
        return "put-batch bad";
      case PutBatchRefused::Why::JobTooBig:
        return "put-batch too big";
      case PutBatchRefused::Why::ExpectedCrlf:
        return "put-batch no crlf";
    }
    CHECK(!"a reason that is none");
    return {};
  }

  std::string operator()(const Put& put) const {
    CHECK(put.body_bytes == body.size());
    return fmt::format("put pri={} delay={} ttr={} body={}", put.priority, put.delay_s, put.ttr_s,
                       body);
  }
  static std::string priority(const PriorityOrKeep& priority) {
    return priority.priority ? fmt::format("{}", *priority.priority) : "=";
  }
  std::string operator()(const PutTooBig&) const { return "put-too-big"; }
  std::string operator()(const PutTrailingJunk&) const { return "put-trailing-junk"; }
  std::string operator()(const PutNoCrlf&) const { return "put-no-crlf"; }
  std::string operator()(const Use& use) const { return "use " + use.tube; }
  std::string operator()(const Reserve&) const { return "reserve"; }
  std::string operator()(const ReserveWithTimeout& reserve) const {
    return fmt::format("reserve timeout={}", reserve.timeout_s);
  }
  std::string operator()(const ReserveJob& job) const {
    return fmt::format("reserve-job {}", job.id);
  }
  std::string operator()(const Delete& job) const { return fmt::format("delete {}", job.id); }
  std::string operator()(const Release& job) const {
    return fmt::format("release {} pri={} delay={}", job.id, priority(job.priority), job.delay_s);
  }
  std::string operator()(const Bury& job) const {
    return fmt::format("bury {} pri={}", job.id, priority(job.priority));
  }
  std::string operator()(const Touch& job) const { return fmt::format("touch {}", job.id); }
  std::string operator()(const Watch& watch) const { return "watch " + watch.tube; }
  std::string operator()(const Ignore& ignored) const { return "ignore " + ignored.tube; }
  std::string operator()(const Peek& job) const { return fmt::format("peek {}", job.id); }
  std::string operator()(const PeekReady&) const { return "peek-ready"; }
  std::string operator()(const PeekDelayed&) const { return "peek-delayed"; }
  std::string operator()(const PeekBuried&) const { return "peek-buried"; }
  std::string operator()(const Kick& kick) const { return fmt::format("kick {}", kick.bound); }
  std::string operator()(const KickJob& job) const { return fmt::format("kick-job {}", job.id); }
  std::string operator()(const StatsJob& job) const { return fmt::format("stats-job {}", job.id); }
  std::string operator()(const StatsTube& stats) const { return "stats-tube " + stats.tube; }
  std::string operator()(const Stats&) const { return "stats"; }
  std::string operator()(const ListTubes&) const { return "list-tubes"; }
  std::string operator()(const ListTubeUsed&) const { return "list-tube-used"; }
  std::string operator()(const ListTubesWatched&) const { return "list-tubes-watched"; }
  std::string operator()(const PauseTube& pause) const {
    return fmt::format("pause-tube {} delay={}", pause.tube, pause.delay_s);
  }
  std::string operator()(const Quit&) const { return "quit"; }
  std::string operator()(const Checkpoint& checkpoint) const {
    if (checkpoint.temporary) return "checkpoint-temporary";
    return checkpoint.trailing_junk ? "checkpoint-trailing-junk" : "checkpoint";
  }
  std::string operator()(const Extensions&) const { return "extensions"; }
  std::string operator()(const ListClients& list) const {
    return fmt::format("list-clients after={} count={}", list.after, list.count.value);
  }
  std::string operator()(const NoteJob& note) const {
    CHECK(note.text.empty() || note.bytes == note.text.size());
    return fmt::format("note {} text={}", note.id, note.text);
  }
  // The line as a client would write it, with all that it says.
  std::string operator()(const SetSchedule& set) const {
    std::string text;
    append_command(text, set, std::string(set.body_bytes, ' '));
    return text.substr(0, text.find("\r\n")) + " body=" + std::string(body);
  }
  std::string operator()(const ScheduleRefused& refused) const {
    switch (refused.why) {
      case ScheduleRefused::Why::BadFormat:
        return "set-schedule bad";
      case ScheduleRefused::Why::TooBig:
        return "set-schedule too big";
      case ScheduleRefused::Why::ExpectedCrlf:
        return "set-schedule no crlf";
    }
    CHECK(!"a reason that is none");
    return {};
  }
  std::string operator()(const NoteRefused& refused) const {
    switch (refused.why) {
      case NoteRefused::Why::BadFormat:
        return "note bad";
      case NoteRefused::Why::TooBig:
        return "note too big";
      case NoteRefused::Why::ExpectedCrlf:
        return "note no crlf";
    }
    CHECK(!"a reason that is none");
    return {};
  }
  std::string operator()(const ListNotes& list) const {
    return fmt::format("list-notes {}", list.id);
  }
  std::string operator()(const Malformed& malformed) const {
    switch (malformed.kind) {
      case Malformed::Kind::BadFormat:
        return "bad";
      case Malformed::Kind::BadPauseTube:
        return "bad pause-tube";
      case Malformed::Kind::UnknownCommand:
        return "unknown";
    }
    CHECK(!"a kind that is none");
    return {};
  }
};

}  // namespace

std::string describe(const Command& command, std::string_view body) {
  return std::visit(Describer{body}, command);
}

std::vector<std::string> describe_all(const std::vector<std::string_view>& pieces,
                                      uint32_t job_bytes_max, size_t body_bytes_left,
                                      ExtensionSet allowed) {
  std::vector<std::string> commands;
  Parser parser(job_bytes_max, allowed);
  for (std::string_view rest : pieces) {
    while (!rest.empty()) {
      const Step step = parser.feed({rest.data(), rest.size()}, body_bytes_left);
      CHECK(step.consumed > 0);
      CHECK(step.consumed <= rest.size());
      CHECK(step.command || step.consumed == rest.size());
      rest.remove_prefix(step.consumed);
      if (step.foreign_protocol) {
        commands.emplace_back(protocol_name(*step.foreign_protocol));
        return commands;
      }
      if (!step.command) continue;
      const bool is_batch = std::holds_alternative<PutBatch>(*step.command);
      const bool is_schedule = std::holds_alternative<SetSchedule>(*step.command);
      CHECK(!step.body_dropped || is_batch || is_schedule ||
            std::holds_alternative<Put>(*step.command));
      CHECK(!step.body_dropped || (step.body.size() == 0 && step.bodies.empty()));
      CHECK(is_batch || step.bodies.empty());
      std::string bodies(step.body.view());
      for (const Body& body : step.bodies) {
        if (!bodies.empty()) bodies += ',';
        bodies += body.view();
      }
      commands.push_back(step.body_dropped ? "put-body-dropped" : describe(*step.command, bodies));
    }
  }
  return commands;
}

}  // namespace perennial::wire
