#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "cmd/perenniald/core/session.h"
#include "cmd/perenniald/net/streams/stream.h"

namespace perennial::perenniald {

// A session that returns what the test has set, and records its calls.
class FakeSession final : public core::Session {
 public:
  void on_bytes(std::span<const char> bytes, Nanos /*now*/, bool later) override {
    heard.append(bytes.data(), bytes.size());
    was_late = later;
  }
  void on_half_close(Nanos /*now*/) override { half_closed = true; }
  void on_eof(Nanos /*now*/) override { ended = true; }
  void on_written(size_t bytes) override { says.erase(0, bytes); }
  void on_close(Nanos /*now*/) override { closed = true; }
  std::string_view output() const override { return says; }
  bool reading() override { return reads; }
  bool finished() const override { return is_finished && says.empty(); }
  std::string_view speaks() const override { return {}; }
  bool may_hear_secret() const override { return false; }

  std::string says;
  std::string heard;
  bool reads = true;
  bool is_finished = false;
  bool was_late = false;
  bool half_closed = false;
  bool ended = false;
  bool closed = false;
};

// A stream that is open once the client has said "open " or "back ", which is a resumed session.
// Anything else is refused. Then "half" is half a record. It says "busy" when the socket can be
// written, if it is told to.
class FakeHandshake final : public Stream {
 public:
  FakeHandshake(int fd, bool has_output) : plain_(fd), has_unsent_(has_output) {}

  bool is_open() const override { return is_open_; }
  Outcome read(std::span<char> buffer, size_t bytes_max) override {
    Outcome got = plain_.read(buffer, bytes_max);
    if (got.state != State::Done) return got;
    const std::string_view word = "open ";
    const std::string_view said(buffer.data(), got.bytes);
    if (is_open_ && said == "half") return {.state = State::Blocked};
    if (is_open_) return got;
    is_resumed_ = said.starts_with("back ");
    if (!is_resumed_ && !said.starts_with(word)) {
      failure_ = "that is no greeting";
      return {.state = State::Failed};
    }
    is_open_ = true;
    std::copy(buffer.begin() + word.size(), buffer.begin() + got.bytes, buffer.begin());
    got.bytes -= word.size();
    if (got.bytes == 0) got.state = State::Blocked;
    got.is_last = got.bytes > 0 && buffer[got.bytes - 1] == '.';
    return got;
  }
  Outcome write(std::string_view bytes) override { return plain_.write(bytes); }
  bool has_unsent() const override { return has_unsent_; }
  Outcome flush() override {
    has_unsent_ = false;
    return plain_.write("busy");
  }
  void end() override { plain_.write("bye"); }
  bool is_resumed() const override { return is_resumed_; }
  std::string failure() const override { return failure_; }
  int fd() const override { return plain_.fd(); }

 private:
  PlainStream plain_;
  bool has_unsent_;
  bool is_open_ = false;
  bool is_resumed_ = false;
  std::string failure_;
};

}  // namespace perennial::perenniald
