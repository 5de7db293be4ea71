#include "tests/oracle/differential.h"

#include <algorithm>

#include <fmt/format.h>

#include "tests/oracle/mask.h"

namespace perennial::oracle {
namespace {

constexpr auto await_time_max = std::chrono::seconds(20);
constexpr size_t reported_steps = 20;
constexpr size_t reported_bytes_max = 600;

const char* const kind_names[] = {"exchange", "wait", "half-close", "close"};

std::string joined(const std::vector<std::string>& replies) {
  std::string text;
  for (const std::string& reply : replies) text += masked(reply);
  return text;
}

std::string shown(std::string_view text) {
  return fmt::format("{:?}{}", text.substr(0, reported_bytes_max),
                     text.size() > reported_bytes_max ? " and more" : "");
}

// Both replies in full, and the rest of each from the first line in which they differ.
std::string shown_both(std::string_view theirs, std::string_view ours) {
  const auto differ = std::mismatch(theirs.begin(), theirs.end(), ours.begin(), ours.end());
  const size_t same = static_cast<size_t>(differ.first - theirs.begin());
  const size_t line = theirs.substr(0, same).rfind('\n') + 1;  // npos + 1 is 0.
  return fmt::format(
      "  beanstalkd  {:?}\n  perenniald  {:?}\n  where they differ:\n  beanstalkd  {}\n"
      "  perenniald  {}\n",
      theirs, ours, shown(theirs.substr(line)), shown(ours.substr(line)));
}

}  // namespace

Side::Side(uint16_t port, size_t conns) : port_(port), control_(port) {
  conns_.resize(conns);
  for (size_t conn = 0; conn < conns; ++conn) open(conn);
}

// Opens a connection and makes one round trip. Only the reply proves that the server has accepted
// the connection.
void Side::open(size_t conn) {
  conns_[conn] = Peer(port_);
  conns_[conn].send("list-tube-used\r\n");
  conns_[conn].reply();
}

// Replaces a connection. Its reservations are surely released only when the server has noticed the
// end of the old connection.
void Side::reopen(size_t conn) {
  if (waiting_ == conn) waiting_.reset();
  conns_[conn] = Peer();
  await_connections(conns_.size());  // The others, and the control connection.
  open(conn);
}

std::string Side::control(std::string_view key) {
  control_.send("stats\r\n");
  return std::string(value_of(control_.reply(), key));
}

void Side::await_connections(size_t count) {
  const auto until = std::chrono::steady_clock::now() + await_time_max;
  while (control("current-connections") != std::to_string(count)) {
    if (std::chrono::steady_clock::now() > until) return;  // The next stats will differ.
  }
}

// Finds out whether a reserve was answered or waits. Polling for both outcomes needs no time limit
// that a slow server could miss.
std::string Side::await_reply_or_wait(size_t conn) {
  const auto until = std::chrono::steady_clock::now() + await_time_max;
  waiting_.reset();
  while (std::chrono::steady_clock::now() < until) {
    const bool waits = control("current-waiting") == "1";
    const auto reply = conns_[conn].reply_within(std::chrono::milliseconds(waits ? 0 : 1));
    if (reply) return *reply;
    if (waits) {
      waiting_ = conn;
      return "<waits>";
    }
  }
  return "<neither waits nor answers>";
}

std::vector<std::string> Side::run(const Step& step) {
  std::vector<std::string> replies;
  Peer& peer = conns_[step.conn];
  peer.send(step.bytes);
  if (step.kind == Step::Kind::HalfClose) peer.end_input();
  const bool to_the_end = step.kind == Step::Kind::HalfClose;
  while (to_the_end || replies.size() < step.replies) {
    replies.push_back(peer.reply());
    if (replies.back().starts_with('<')) break;
  }
  if (step.kind == Step::Kind::Wait) {
    replies.push_back(await_reply_or_wait(step.conn));
  } else {
    if (step.kind != Step::Kind::Exchange) reopen(step.conn);
    if (waiting_) replies.push_back(await_reply_or_wait(*waiting_));
  }
  return replies;
}

std::optional<std::vector<std::string>> Differential::run(const Step& step) {
  std::vector<std::string> theirs = theirs_.run(step);
  const std::vector<std::string> ours = ours_.run(step);
  ++steps_;
  std::string entry =
      fmt::format("{} {} conn={} {}\n", steps_, kind_names[static_cast<size_t>(step.kind)],
                  step.conn, shown(step.bytes));
  const std::string their_text = joined(theirs);
  const std::string our_text = joined(ours);
  const bool same = their_text == our_text;
  entry += same ? fmt::format("  both        {}\n", shown(their_text))
                : shown_both(their_text, our_text);
  last_.push_back(std::move(entry));
  if (last_.size() > reported_steps) last_.pop_front();
  if (!same) return std::nullopt;
  return theirs;
}

std::string Differential::report() const {
  std::string text;
  for (const std::string& entry : last_) text += entry;
  return text;
}

}  // namespace perennial::oracle
