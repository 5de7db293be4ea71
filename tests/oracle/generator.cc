#include "tests/oracle/generator.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "tests/oracle/bad_lines.h"

namespace perennial::oracle {
namespace {

constexpr uint64_t commands_per_phase = 500;
constexpr size_t waited_steps_max = 4;

const std::vector<std::string> tubes = {"default", "default",     "a",
                                        "b",       "c-+/;.$_()1", std::string(200, 'n')};
const std::vector<std::string> priorities = {"0",    "1",    "5",          "1023",
                                             "1024", "1025", "4294967295", "0007"};

}  // namespace

const std::vector<Generator::Kind> Generator::kinds = {
    {&Generator::put, 24},         {&Generator::put_too_big, 2},  {&Generator::put_no_crlf, 2},
    {&Generator::put_bad_line, 2}, {&Generator::put_ttr_zero, 1}, {&Generator::reserve, 18},
    {&Generator::reserve_job, 4},  {&Generator::remove, 14},      {&Generator::release, 8},
    {&Generator::bury, 8},         {&Generator::touch, 3},        {&Generator::kick, 3},
    {&Generator::kick_job, 4},     {&Generator::peek, 3},         {&Generator::peek_state, 6},
    {&Generator::stats, 3},        {&Generator::stats_job, 8},    {&Generator::stats_tube, 6},
    {&Generator::list, 5},         {&Generator::use, 5},          {&Generator::watch, 5},
    {&Generator::ignore, 5},       {&Generator::pause, 4},        {&Generator::malformed, 8},
    {&Generator::long_line, 1},
};

Generator::Generator(uint64_t seed) : random_(seed), reserved_(conns) {
  choose_weights();
}

// Each phase prefers other commands and omits some, so that queues both fill up and run empty.
void Generator::choose_weights() {
  weights_.clear();
  for (const Kind& kind : kinds) {
    weights_.push_back(kind.weight * static_cast<int>(below(4)));
  }
  weights_[0] += 5;
}

Step Generator::next(std::optional<size_t> waiting) {
  Step step;
  step.conn = below(conns);
  if (!waiting) {
    waited_steps_ = 0;
    if (chance(4)) return wait_on(step.conn);
  } else if (++waited_steps_ > waited_steps_max) {
    step.conn = *waiting;
    if (chance(70)) return wake_up((*waiting + 1) % conns);
    step.kind = chance(50) ? Step::Kind::HalfClose : Step::Kind::Close;
    return step;
  } else if (step.conn == *waiting) {
    step.conn = (step.conn + 1) % conns;
  }

  const size_t commands = chance(60) ? 1 : 2 + below(8);
  for (size_t i = 0; i < commands; ++i) add_command(step);
  // Connections are not closed while a reserve waits. When several reservations end with a
  // connection, beanstalkd hands on the one that was made first, and this server the one with the
  // earliest deadline.
  if (waiting || chance(98)) return step;
  step.kind = chance(50) ? Step::Kind::HalfClose : Step::Kind::Close;
  // Servers ignore what follows a quit.
  if (chance(50)) step.bytes += chance(50) ? "quit\r\n" : "quitx\r\nput 0 0 1000 1\r\nx\r\n";
  return step;
}

void Generator::add_command(Step& step) {
  if (++commands_ % commands_per_phase == 0) choose_weights();
  int total = 0;
  for (const int weight : weights_) total += weight;
  int left = static_cast<int>(below(static_cast<uint64_t>(total)));
  for (size_t i = 0; i < kinds.size(); ++i) {
    left -= weights_[i];
    if (left < 0) return (this->*kinds[i].make)(step);
  }
}

// Makes a reserve that mostly finds no job. The connection watches the tube of wake_up, alone or
// with others.
Step Generator::wait_on(size_t conn) {
  Step step;
  step.kind = Step::Kind::Wait;
  step.conn = conn;
  line(step, "watch wake");
  if (chance(70)) {
    for (const std::string& name : tubes) line(step, "ignore " + name);
  }
  step.bytes += chance(50) ? "reserve\r\n" : "reserve-with-timeout 1000\r\n";
  commands_ += step.replies + 1;
  return step;
}

// Puts a job that the waiting connection is certain to get, since nothing pauses this tube.
Step Generator::wake_up(size_t conn) {
  Step step;
  step.conn = conn;
  line(step, "use wake");
  line(step, "put 0 0 1000 4\r\nwake");
  line(step, "use " + tube());
  commands_ += step.replies;
  return step;
}

void Generator::learn(const Step& step, const std::vector<std::string>& replies) {
  std::vector<std::string>& reserved = reserved_[step.conn];
  if (step.kind != Step::Kind::Exchange && step.kind != Step::Kind::Wait) reserved.clear();
  for (const std::string& reply : replies) {
    if (reply.starts_with("INSERTED ")) next_id_ = std::stoull(reply.substr(9)) + 1;
    if (reply.starts_with("EXPECTED_CRLF")) ++next_id_;
    if (reply.starts_with("RESERVED ")) {
      reserved.push_back(reply.substr(9, reply.find(' ', 9) - 9));
      if (reserved.size() > 20) reserved.erase(reserved.begin());
    }
  }
}

void Generator::line(Step& step, std::string_view text) {
  step.bytes += text;
  step.bytes += "\r\n";
  ++step.replies;
}

// The id of a job that this connection reserved, of a recent job, of any job, or of a job that
// never existed.
std::string Generator::id(const Step& step) {
  static const std::vector<std::string> odd = {"0", "18446744073709551615", "   1", "0001",
                                               "999999999"};
  const std::vector<std::string>& reserved = reserved_[step.conn];
  if (!reserved.empty() && chance(50)) return pick(reserved);
  if (chance(3)) return pick(odd);
  const uint64_t window = std::min<uint64_t>(next_id_, chance(90) ? 30 : next_id_);
  return std::to_string(next_id_ - below(window));
}

std::string Generator::priority() {
  return pick(priorities);
}

// Returns a delay that is used once. With equal delays the order would depend on the speed of the
// server.
std::string Generator::delay() {
  return std::to_string(1000 + below(1'000'000));
}

std::string Generator::tube() {
  return pick(tubes);
}

std::string Generator::body(size_t bytes) {
  static constexpr std::string_view alphabet("ab\r\n\0-", 6);
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += alphabet[below(alphabet.size())];
  return text;
}

void Generator::put(Step& step) {
  const size_t bytes = chance(2) ? job_bytes_max : chance(5) ? below(job_bytes_max) : below(12);
  line(step, fmt::format("put {} {} {} {}\r\n{}", priority(), chance(25) ? delay() : "0",
                         chance(50) ? "1000" : "4294967295", bytes, body(bytes)));
}

void Generator::put_too_big(Step& step) {
  const size_t bytes = job_bytes_max + 1 + (chance(50) ? 0 : below(5000));
  line(step, fmt::format("put 0 0 1000 {}{}\r\n{}", bytes, chance(30) ? " junk" : "", body(bytes)));
}

// A body whose last two bytes are not CRLF. The server discards them with the body.
void Generator::put_no_crlf(Step& step) {
  static const std::vector<std::string> ends = {"xx", "\rx", "x\n", "\n\r", "\n\n"};
  const size_t bytes = below(20);
  step.bytes += fmt::format("put 0 0 1000 {}\r\n{}{}", bytes, body(bytes), pick(ends));
  ++step.replies;
}

// A put line that is refused, so that its body is read as a command.
void Generator::put_bad_line(Step& step) {
  line(step, chance(50) ? "put 0 0 1000 14 x" : "put 0 z 1000 14");
  line(step, chance(50) ? "list-tube-used" : "hello, hello!!");
}

// A ttr of 0 becomes 1 second, so the job must be deleted before that. It is delayed, so that no
// connection reserves it. Its id is known only if no put precedes it in the step.
void Generator::put_ttr_zero(Step& step) {
  if (step.replies > 0) return stats(step);
  line(step, "put 7 1000 0 2\r\nhi");
  line(step, fmt::format("stats-job {}", next_id_));
  line(step, fmt::format("delete {}", next_id_));
}

void Generator::reserve(Step& step) {
  static const std::vector<std::string> lines = {"reserve-with-timeout 0", "reserve-with-timeout 0",
                                                 "reserve-with-timeout   00",
                                                 "reserve-with-timeout 0 junk"};
  line(step, pick(lines));
}
void Generator::reserve_job(Step& step) {
  line(step, "reserve-job " + id(step));
}
void Generator::remove(Step& step) {
  line(step, "delete " + id(step));
}
void Generator::release(Step& step) {
  line(step, fmt::format("release {} {} {}", id(step), priority(), chance(70) ? "0" : delay()));
}
void Generator::bury(Step& step) {
  line(step, fmt::format("bury {} {}", id(step), priority()));
}
void Generator::touch(Step& step) {
  line(step, "touch " + id(step));
}
void Generator::kick(Step& step) {
  static const std::vector<std::string> bounds = {"0",  "1",          "2",          "3abc", "10",
                                                  "-1", "4294967296", "4294967297", "+1",   " 1"};
  line(step, "kick " + pick(bounds));
}
void Generator::kick_job(Step& step) {
  line(step, "kick-job " + id(step));
}
void Generator::peek(Step& step) {
  line(step, "peek " + id(step));
}
void Generator::peek_state(Step& step) {
  static const std::vector<std::string> lines = {"peek-ready", "peek-delayed", "peek-buried"};
  line(step, pick(lines));
}
void Generator::stats(Step& step) {
  line(step, "stats");
}
void Generator::stats_job(Step& step) {
  line(step, "stats-job " + id(step));
}
void Generator::stats_tube(Step& step) {
  line(step, "stats-tube " + (chance(95) ? tube() : "nowhere"));
}
void Generator::list(Step& step) {
  static const std::vector<std::string> lines = {"list-tubes", "list-tube-used",
                                                 "list-tubes-watched"};
  line(step, pick(lines));
}
void Generator::use(Step& step) {
  line(step, "use " + tube());
}
void Generator::watch(Step& step) {
  line(step, "watch " + tube());
}
void Generator::ignore(Step& step) {
  line(step, "ignore " + tube());
}
void Generator::pause(Step& step) {
  static const std::vector<std::string> lines = {
      "pause-tube {} 0", "pause-tube {} 0", "pause-tube   {}   1000", "pause-tube{} 4294967295"};
  const std::string name = chance(95) ? tube() : "nowhere";
  line(step, fmt::format(fmt::runtime(pick(lines)), name));
}
void Generator::malformed(Step& step) {
  line(step, pick(bad_lines));
}

// beanstalkd 1.12 does not answer a line that ends one byte past a multiple of 224, so the
// generator makes none.
void Generator::long_line(Step& step) {
  size_t bytes = 226 + below(1500);
  if (bytes % 224 == 1) ++bytes;
  static const std::vector<std::string> beginnings = {
      "", "", "quit :", "kick 1 :", "reserve-with-timeout 0 :", "use a:b"};
  std::string text = pick(beginnings);
  text.append(bytes - 2 - text.size(), chance(50) ? 'x' : '\0');
  line(step, text);
}

}  // namespace perennial::oracle
