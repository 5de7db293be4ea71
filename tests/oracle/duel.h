#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tests/oracle/peer.h"

namespace perennial::oracle {

// One thing that is done to both servers. How each kind ends is what makes the two comparable:
// nothing is read "after a while", but until the server has shown that it is done.
struct Step {
  enum class Kind : uint8_t {
    Exchange,   // Send, read the replies.
    Wait,       // Send; the last command is a reserve, which may be answered or wait.
    HalfClose,  // Send, end the input, read to the end, connect anew.
    Close,      // Send, read the replies, hang up, connect anew.
  };
  Kind kind = Kind::Exchange;
  size_t conn = 0;
  std::string bytes;
  size_t replies = 0;  // How many are sure to come; not counting a Wait's last one.
};

// One server and the same few connections to it. A control connection of its own asks for
// statistics until what was done to another connection has taken effect.
class Side {
 public:
  Side(uint16_t port, size_t conns);

  // Does the step and gives the replies, in words where there is none: "<waits>", "<closed>".
  std::vector<std::string> run(const Step& step);
  std::optional<size_t> waiting() const { return waiting_; }

 private:
  void open(size_t conn);
  void reopen(size_t conn);
  std::string settle(size_t conn);
  void await_connections(size_t count);
  std::string control(std::string_view key);

  uint16_t port_;
  Peer control_;
  std::vector<Peer> conns_;
  std::optional<size_t> waiting_;  // The connection whose reserve waits; never more than one.
};

// Both servers, step by step, until their replies differ.
class Duel {
 public:
  Duel(uint16_t their_port, uint16_t our_port, size_t conns)
      : theirs_(their_port, conns), ours_(our_port, conns) {}

  // Gives beanstalkd's replies; none if ours were others.
  std::optional<std::vector<std::string>> run(const Step& step);
  std::optional<size_t> waiting() const { return theirs_.waiting(); }
  // The last steps, in words.
  std::string report() const;

 private:
  Side theirs_;
  Side ours_;
  uint64_t steps_ = 0;
  std::deque<std::string> last_;
};

}  // namespace perennial::oracle
