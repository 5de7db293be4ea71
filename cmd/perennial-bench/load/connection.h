#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "cmd/common/address.h"
#include "cmd/common/socket.h"
#include "cmd/perennial-bench/results/operation.h"
#include "engine/types/basic.h"
#include "engine/types/status.h"

namespace perennial::bench {

// One connection of a load, with the requests that have no reply yet. Allocates only when it is
// opened. It looks at of the protocol what it must, to know where a reply ends: a client that is
// measured with must cost far less than a server.
class Connection {
 public:
  struct Limits {
    uint32_t requests;     // Without a reply, at once.
    size_t request_bytes;  // Of the longest.
    size_t reply_bytes;    // Of the longest, with its body.
  };
  // A whole reply. Both last until the next receive().
  struct Reply {
    Operation operation;  // That it answers.
    Nanos sent_at;        // When that was requested.
    std::string_view line;
    std::string_view body;  // Of RESERVED and FOUND.
  };

  Status open(const common::Address& server, const Limits& limits);
  int fd() const { return socket_.fd(); }

  // Queues a request; gives the place where its bytes were put, to be changed before send().
  // REQUIRES: it is within the limits.
  char* request(Operation operation, std::string_view bytes, Nanos now);
  bool has_unsent() const { return out_end_ > out_begin_; }
  // As much as the kernel takes.
  Status send();

  // Reads what has come, as much as there is room for. False: for now there is no more.
  Result<bool> receive();
  // Takes the oldest reply that has come whole. False: there is none. Io: more comes than was asked
  // for.
  Result<bool> next(Reply& reply);

 private:
  struct Pending {
    Operation operation;
    Nanos sent_at;
  };

  common::Socket socket_;
  std::unique_ptr<char[]> out_;
  size_t out_size_ = 0;
  size_t out_begin_ = 0;
  size_t out_end_ = 0;
  std::unique_ptr<char[]> in_;
  size_t in_size_ = 0;
  size_t in_begin_ = 0;
  size_t in_end_ = 0;
  std::vector<Pending> pending_;  // A ring.
  size_t oldest_ = 0;
  size_t pending_count_ = 0;
};

}  // namespace perennial::bench
