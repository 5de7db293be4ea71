#include "tests/oracle/script.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "tests/oracle/mask.h"
#include "tests/oracle/peer.h"

namespace perennial::oracle {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// The largest difference, in milliseconds, between the times of the same reply on both servers.
constexpr int64_t apart_ms_max = 450;

// A time that is longer than any reply of a script takes.
constexpr milliseconds silence_time(7000);

// The keys of statistics that are compared. Ages and ids are not.
constexpr std::string_view compared_keys[] = {"state",
                                              "pri",
                                              "delay",
                                              "ttr",
                                              "time-left",
                                              "reserves",
                                              "timeouts",
                                              "releases",
                                              "buries",
                                              "kicks",
                                              "current-jobs-ready",
                                              "current-jobs-reserved",
                                              "current-jobs-delayed",
                                              "current-jobs-buried",
                                              "current-waiting",
                                              "pause",
                                              "pause-time-left"};

std::string statistics(std::string_view reply) {
  std::string text = "OK";
  for (const std::string_view key : compared_keys) {
    const std::string_view value = value_of(reply, key);
    if (!value.empty()) text += fmt::format(" {}={}", key, value);
  }
  return text;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// One run of one script on one server.
class Player {
 public:
  Player(const Script& script, uint16_t port) : tube_(script.name) {
    for (const std::string& line : script.lines) {
      if (is_time(line) || peers_.contains(line[0])) continue;
      Peer& peer = peers_.try_emplace(line[0], port).first->second;
      peer.send("use " + tube_ + "\r\nwatch " + tube_ + "\r\nignore default\r\n");
      for (int reply = 0; reply < 3; ++reply) peer.reply();
    }
    start_ = steady_clock::now();
  }

  void play(const std::string& line) {
    if (is_time(line)) {
      std::this_thread::sleep_until(start_ + milliseconds(std::stol(line.substr(3))));
      return;
    }
    Peer& peer = peers_.at(line[0]);
    switch (line[1]) {
      case '>':
        peer.send(bytes_of(line.substr(3)));
        return read(line[0]);
      case '!':
        return peer.send(bytes_of(line.substr(3)));
      case '<':
        return read(line[0]);
      case '|':
        return peer.end_input();
      default:
        peer = Peer();
        return;
    }
  }

  std::vector<Event> take() { return std::move(events_); }

 private:
  static bool is_time(const std::string& line) { return line.starts_with("at "); }

  // Turns "put 0 0 5 | body" into the bytes that are sent.
  std::string bytes_of(std::string line) {
    replace_all(line, "{T}", tube_);
    for (size_t id = 0; id < ids_.size(); ++id) {
      replace_all(line, fmt::format("${}", id + 1), ids_[id]);
    }
    const size_t bar = line.find(" | ");
    if (bar == std::string::npos) return line + "\r\n";
    const std::string body = line.substr(bar + 3);
    return fmt::format("{} {}\r\n{}\r\n", line.substr(0, bar), body.size(), body);
  }

  void read(char name) {
    const std::string reply = peers_.at(name).reply_within(silence_time).value_or("<silence>");
    const auto now = steady_clock::now() - start_;
    const int64_t at_ms = std::chrono::duration_cast<milliseconds>(now).count();
    events_.push_back({fmt::format("{}< {}", name, text_of(reply)), at_ms});
  }

  // Replaces job ids. They differ between the servers because the scripts run at once and put jobs
  // in another order.
  std::string text_of(const std::string& reply) {
    if (reply.starts_with("OK ")) return statistics(reply);
    const size_t at = reply.find(' ') + 1;  // npos + 1 is 0.
    const bool named = reply.starts_with("INSERTED ") || reply.starts_with("RESERVED ") ||
                       reply.starts_with("FOUND ");
    if (!named) return fmt::format("{:?}", reply);
    const std::string id = reply.substr(at, reply.find_first_of(" \r", at) - at);
    if (reply.starts_with("INSERTED ")) ids_.push_back(id);
    const auto known = std::find(ids_.begin(), ids_.end(), id);
    return fmt::format("{}${}{:?}", reply.substr(0, at), known - ids_.begin() + 1,
                       reply.substr(at + id.size()));
  }

  std::string tube_;
  std::map<char, Peer> peers_;
  std::vector<std::string> ids_;
  std::vector<Event> events_;
  steady_clock::time_point start_;
};

}  // namespace

std::vector<Event> play(const Script& script, uint16_t port) {
  Player player(script, port);
  for (const std::string& line : script.lines) player.play(line);
  return player.take();
}

bool alike(const std::vector<Event>& theirs, const std::vector<Event>& ours) {
  return std::equal(theirs.begin(), theirs.end(), ours.begin(), ours.end(),
                    [](const Event& left, const Event& right) {
                      return left.text == right.text &&
                             std::abs(left.at_ms - right.at_ms) < apart_ms_max;
                    });
}

std::string describe(const std::vector<Event>& events) {
  std::string text;
  for (const Event& event : events) text += fmt::format("  {:5} ms  {}\n", event.at_ms, event.text);
  return text;
}

}  // namespace perennial::oracle
