#include "tests/power_cut/conversation.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>

#include <fmt/format.h>

#include "tests/support/client_socket.h"

namespace perennial::power_cut {
namespace {

// Bytes of one direction, and at which events they went.
class Stream {
 public:
  void add(uint64_t event, std::string_view data) {
    bytes_ += data;
    ends_.push_back({.offset = bytes_.size(), .event = event});
  }
  std::string_view rest() const { return std::string_view(bytes_).substr(at_); }
  // Takes bytes, and returns the event with which the last one went.
  uint64_t take(size_t count) {
    at_ += count;
    return std::ranges::lower_bound(ends_, at_, {}, &End::offset)->event;
  }

 private:
  struct End {
    size_t offset;
    uint64_t event;
  };
  std::string bytes_;
  size_t at_ = 0;
  std::vector<End> ends_;
};

struct Talk {
  Stream received;
  Stream sent;
};

// The size of a command with its body, and of the body. 0: it is not complete.
size_t command_bytes(std::string_view bytes, size_t& body_bytes) {
  const size_t line = bytes.find("\r\n");
  body_bytes = 0;
  if (line == std::string_view::npos) return 0;
  const std::vector<std::string_view> words = words_of(bytes.substr(0, line));
  const bool has_body = words.front() == "put" || words.front() == "put-batch";
  if (!has_body) return line + 2;
  body_bytes = number_of(words[words.front() == "put" ? 4 : 2]);
  const size_t total = line + 2 + body_bytes + 2;
  return bytes.size() < total ? 0 : total;
}

Status read_talk(uint64_t connection, Talk& talk, std::vector<Exchange>& out) {
  size_t body_bytes = 0;
  while (const size_t bytes = command_bytes(talk.received.rest(), body_bytes)) {
    Exchange exchange;
    const std::string_view text = talk.received.rest().substr(0, bytes);
    exchange.connection = connection;
    exchange.line = text.substr(0, text.find("\r\n"));
    exchange.body = text.substr(exchange.line.size() + 2).substr(0, body_bytes);
    exchange.arrived = talk.received.take(bytes);
    if (exchange.line == unrecorded_command) continue;
    uint64_t answers = 1;
    for (uint64_t i = 0; i < answers; ++i) {
      const size_t end = support::reply_end(talk.sent.rest());
      if (end == 0) {
        return {StatusCode::Corruption, fmt::format("no answer to: {}", exchange.line)};
      }
      exchange.answers.emplace_back(talk.sent.rest().substr(0, end));
      exchange.answered = talk.sent.take(end);
      const bool has_items = exchange.answers.front().starts_with("INSERTED_BATCH ");
      if (i == 0 && has_items) answers += number_of(words_of(exchange.line)[1]);
    }
    out.push_back(std::move(exchange));
  }
  return {};
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  while (!line.empty()) {
    const size_t space = std::min(line.find(' '), line.size());
    out.push_back(line.substr(0, space));
    line.remove_prefix(std::min(space + 1, line.size()));
  }
  return out;
}

uint64_t number_of(std::string_view word) {
  uint64_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

Result<std::vector<Exchange>> read_exchanges(const Recording& recording) {
  std::deque<Talk> talks;
  std::map<uint32_t, Talk*> open;
  uint64_t number = 0;
  for (const Event& event : recording.events()) {
    ++number;
    if (event.kind == EventKind::Begin) open.clear();
    if (event.kind == EventKind::Accept) open[event.handle] = &talks.emplace_back();
    if (event.kind == EventKind::Received) open.at(event.handle)->received.add(number, event.data);
    if (event.kind == EventKind::Sent) open.at(event.handle)->sent.add(number, event.data);
  }
  std::vector<Exchange> out;
  for (size_t i = 0; i < talks.size(); ++i) {
    if (Status s = read_talk(i, talks[i], out); !s.ok()) return s;
  }
  std::ranges::stable_sort(out, {}, &Exchange::arrived);
  return out;
}

}  // namespace perennial::power_cut
