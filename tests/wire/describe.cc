#include "tests/wire/describe.h"

#include <fmt/format.h>

#include "engine/types/check.h"
#include "wire/parser.h"

namespace perennial::wire {
namespace {

struct Describer {
  std::string_view body;

  // What has none of its own below: as its row says.
  template <typename C>
  std::string operator()(const C& command) const {
    std::string text(command_row<C>().word());
    const auto add = [&](const auto& argument) {
      text += fmt::format(" {}={}", argument.name, command.*argument.member);
    };
    std::apply([&](const auto&... arguments) { (add(arguments), ...); },
               command_row<C>().arguments);
    return text;
  }

  std::string operator()(const Put& put) const {
    CHECK(put.body_bytes == body.size());
    return fmt::format("put pri={} delay={} ttr={} body={}", put.priority, put.delay_s, put.ttr_s,
                       body);
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
    return fmt::format("release {} pri={} delay={}", job.id, job.priority, job.delay_s);
  }
  std::string operator()(const Bury& job) const {
    return fmt::format("bury {} pri={}", job.id, job.priority);
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
                                      uint32_t job_bytes_max, size_t room) {
  std::vector<std::string> commands;
  Parser parser(job_bytes_max);
  for (std::string_view rest : pieces) {
    while (!rest.empty()) {
      const Step step = parser.feed({rest.data(), rest.size()}, room);
      CHECK(step.consumed > 0);
      CHECK(step.consumed <= rest.size());
      CHECK(step.command || step.consumed == rest.size());
      rest.remove_prefix(step.consumed);
      if (step.stranger) {
        commands.emplace_back(stranger_name(*step.stranger));
        return commands;
      }
      if (!step.command) continue;
      CHECK(!step.no_room || std::holds_alternative<Put>(*step.command));
      CHECK(!step.no_room || step.body.size() == 0);
      commands.push_back(step.no_room ? "put-no-room" : describe(*step.command, step.body.view()));
    }
  }
  return commands;
}

}  // namespace perennial::wire
