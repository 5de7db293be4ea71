#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tests/oracle/peer.h"

namespace perennial::oracle {

// One step that both servers execute. The kind decides how the step ends, which makes the replies
// comparable: the test never reads for a fixed time, but until the server has shown that the step
// is complete.
struct Step {
  enum class Kind : uint8_t {
    Exchange,   // Send, then read the replies.
    Wait,       // Send; the last command is a reserve, which may be answered or wait.
    HalfClose,  // Send, end the input, read to the end of the stream, reconnect.
    Close,      // Send, read the replies, close, reconnect.
  };
  Kind kind = Kind::Exchange;
  size_t conn = 0;
  std::string bytes;
  size_t replies = 0;  // The number of replies that are certain, without the last one of a Wait.
};

// One server and a few connections to it. A separate control connection asks for statistics until a
// step on another connection has taken effect.
class Side {
 public:
  Side(uint16_t port, size_t conns);

  // Executes the step and returns the replies. Where there is none, a word stands for it:
  // "<waits>", "<closed>".
  std::vector<std::string> run(const Step& step);
  std::optional<size_t> waiting() const { return waiting_; }

 private:
  void open(size_t conn);
  void reopen(size_t conn);
  std::string await_reply_or_wait(size_t conn);
  void await_connections(size_t count);
  std::string control(std::string_view key);

  uint16_t port_;
  Peer control_;
  std::vector<Peer> conns_;
  // The connection whose reserve waits, of which there is at most one.
  std::optional<size_t> waiting_;
};

// Runs the same steps on both servers until their replies differ.
class Differential {
 public:
  Differential(uint16_t their_port, uint16_t our_port, size_t conns)
      : theirs_(their_port, conns), ours_(our_port, conns) {}

  // Returns beanstalkd's replies, or none if the replies of the two servers differ.
  std::optional<std::vector<std::string>> run(const Step& step);
  std::optional<size_t> waiting() const { return theirs_.waiting(); }
  // The last steps as text.
  std::string report() const;

 private:
  Side theirs_;
  Side ours_;
  uint64_t steps_ = 0;
  std::deque<std::string> last_;
};

}  // namespace perennial::oracle
