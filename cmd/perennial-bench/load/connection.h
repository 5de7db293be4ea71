#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "cmd/common/tls/client_stream.h"
#include "cmd/perennial-bench/results/operation.h"
#include "cmd/perennial-bench/servers/target.h"
#include "engine/types/basic.h"
#include "engine/types/status.h"

namespace perennial::bench {

// One connection of a load with its unanswered requests. Allocates only when it is opened. It
// parses only enough of the protocol to find the end of a reply: a measuring client must cost far
// less than a server.
class Connection {
 public:
  struct Limits {
    uint32_t requests;     // The largest number of unanswered requests.
    size_t request_bytes;  // The length of the longest request.
    size_t reply_bytes;    // The length of the longest reply, with its body.
  };
  // A complete reply. Both views are valid until the next receive().
  struct Reply {
    Operation operation;  // The operation that it answers.
    Nanos sent_at;        // The time of the request.
    std::string_view line;
    // Of RESERVED and FOUND; of a batch, all that follows the line. Without the last CRLF.
    std::string_view body;
  };

  Status open(const Target& server, const Limits& limits);
  int fd() const { return stream_.fd(); }

  // Queues a request and returns the place of its bytes, which may be changed before send().
  // REQUIRES: the request is within the limits.
  char* request(Operation operation, std::string_view bytes, Nanos now);
  bool has_unsent() const { return out_end_ > out_begin_; }
  // Sends as much as the kernel accepts.
  Status send();

  // Reads what has arrived, up to the free capacity of the buffer. Returns false if no more is
  // available now.
  Result<bool> receive();
  // Takes the oldest complete reply. Returns false if there is none. Io: the server sent more than
  // was requested.
  Result<bool> next(Reply& reply);

 private:
  struct Pending {
    Operation operation;
    Nanos sent_at;
  };

  common::ClientStream stream_;
  std::unique_ptr<char[]> out_;
  size_t out_size_ = 0;
  size_t out_begin_ = 0;
  size_t out_end_ = 0;
  std::unique_ptr<char[]> in_;
  size_t in_size_ = 0;
  size_t in_begin_ = 0;
  size_t in_end_ = 0;
  std::vector<Pending> pending_;  // A ring buffer.
  size_t oldest_ = 0;
  size_t pending_count_ = 0;
};

}  // namespace perennial::bench
