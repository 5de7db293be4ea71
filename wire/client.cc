#include "wire/client.h"

#include <variant>

#include <fmt/format.h>

#include "engine/types/check.h"

namespace perennial::wire {
namespace {

void append_part(std::string& out, uint64_t number) {
  const fmt::format_int text(number);
  out.append(text.data(), text.size());
}
void append_part(std::string& out, std::string_view text) {
  out += text;
}

// One overload for each command. A line is a word, then its arguments, a space before each.
struct Appender {
  std::string& out;
  std::string_view body;

  template <typename... Parts>
  void line(std::string_view word, const Parts&... parts) const {
    out += word;
    ((out += ' ', append_part(out, parts)), ...);
    out += "\r\n";
  }

  void operator()(const Put& put) const {
    CHECK(put.body_bytes == body.size());
    line("put", put.priority, put.delay_s, put.ttr_s, put.body_bytes);
    out += body;
    out += "\r\n";
  }
  void operator()(const Use& use) const { line("use", use.tube); }
  void operator()(const Reserve&) const { line("reserve"); }
  void operator()(const ReserveWithTimeout& reserve) const {
    line("reserve-with-timeout", reserve.timeout_s);
  }
  void operator()(const ReserveJob& reserve) const { line("reserve-job", reserve.id); }
  void operator()(const Delete& job) const { line("delete", job.id); }
  void operator()(const Release& job) const { line("release", job.id, job.priority, job.delay_s); }
  void operator()(const Bury& job) const { line("bury", job.id, job.priority); }
  void operator()(const Touch& job) const { line("touch", job.id); }
  void operator()(const Watch& watch) const { line("watch", watch.tube); }
  void operator()(const Ignore& ignored) const { line("ignore", ignored.tube); }
  void operator()(const Peek& job) const { line("peek", job.id); }
  void operator()(const PeekReady&) const { line("peek-ready"); }
  void operator()(const PeekDelayed&) const { line("peek-delayed"); }
  void operator()(const PeekBuried&) const { line("peek-buried"); }
  void operator()(const Kick& kick) const { line("kick", kick.bound); }
  void operator()(const KickJob& job) const { line("kick-job", job.id); }
  void operator()(const StatsJob& job) const { line("stats-job", job.id); }
  void operator()(const StatsTube& stats) const { line("stats-tube", stats.tube); }
  void operator()(const Stats&) const { line("stats"); }
  void operator()(const ListTubes&) const { line("list-tubes"); }
  void operator()(const ListTubeUsed&) const { line("list-tube-used"); }
  void operator()(const ListTubesWatched&) const { line("list-tubes-watched"); }
  void operator()(const PauseTube& pause) const { line("pause-tube", pause.tube, pause.delay_s); }
  void operator()(const Quit&) const { line("quit"); }
  void operator()(const Checkpoint& checkpoint) const {
    CHECK(!checkpoint.trailing_junk);
    line(checkpoint.temporary ? "checkpoint temporary" : "checkpoint");
  }
  void operator()(const PutTooBig&) const { refuse(); }
  void operator()(const PutTrailingJunk&) const { refuse(); }
  void operator()(const PutNoCrlf&) const { refuse(); }
  void operator()(const Malformed&) const { refuse(); }

  static void refuse() { CHECK(!"a client asks only for what is a command"); }
};

}  // namespace

void append_command(std::string& out, const Command& command, std::string_view body) {
  CHECK(body.empty() || std::holds_alternative<Put>(command));
  std::visit(Appender{out, body}, command);
}

}  // namespace perennial::wire
