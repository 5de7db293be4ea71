#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/common/socket.h"
#include "cmd/perennial/bench/bench_put.h"

namespace perennial::bench {

// Puts as fast as the server answers: one thread, one epoll, the same prebuilt bytes for each put,
// nothing allocated once it runs. It must cost far less than the server, so it reads of a reply no
// more than its first letter and its end.
class PutLoad {
 public:
  explicit PutLoad(const PutOptions& options);
  ~PutLoad();
  PutLoad(const PutLoad&) = delete;
  PutLoad& operator=(const PutLoad&) = delete;

  Status open(const common::Address& server);
  // Runs for so long. Only replies that come in this time are counted in `latencies`.
  Status run_for(Nanos duration, Latencies& latencies);

 private:
  struct Connection {
    common::Socket socket;
    uint64_t unsent_bytes = 0;  // Asked for and not yet taken by the kernel.
    size_t put_offset = 0;      // Where in a put the next byte to send is.
    bool in_line = false;       // The reply being read has begun.
    uint32_t oldest = 0;        // The next to be answered, in `sent_at`.
    std::vector<Nanos> sent_at = {};
  };

  Status on_readable(Connection& connection, Latencies& latencies);
  Status send(Connection& connection);

  const PutOptions& options_;
  size_t put_bytes_;  // The size of one put, with its body.
  std::string puts_;  // Several of them, end to end, so that many leave in one call.
  int epoll_ = -1;
  std::vector<Connection> connections_;
  std::vector<char> input_;
};

// Monotonic.
Nanos now_nanos();

}  // namespace perennial::bench
