#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "cmd/common/tool/server_connection.h"

namespace perennial::tool {

// Puts bodies, several of them before it reads the replies, and prints the id of each job. Warns of
// lines that the server refuses.
class Putter {
 public:
  // `server` outlives the putter, and uses `tube`. `put` has everything but the size of a body.
  // `has_lines`: each body is a line of the input, and a line that is refused does not end the
  // rest.
  Putter(ServerConnection& server, std::string tube, Put put, bool has_lines)
      : server_(server), tube_(std::move(tube)), put_(std::move(put)), has_lines_(has_lines) {}

  // Fails if further puts would fail, too.
  Status add(std::string_view body);
  // Reads all outstanding replies. Fails as add() does.
  Status flush_batch();

  uint64_t failures() const { return failures_; }
  uint64_t answered() const { return answered_; }
  // Whether a put was answered with the job that has its key.
  bool is_duplicate() const { return is_duplicate_; }

 private:
  uint64_t done() const { return answered_ - failures_; }
  void take(const wire::ClientReply& reply);
  Status say_what_drains();
  void report_duplicate(const wire::ClientReply& reply);

  ServerConnection& server_;
  const std::string tube_;
  Put put_;
  const bool has_lines_;
  size_t in_flight_ = 0;
  uint64_t answered_ = 0;
  uint64_t failures_ = 0;
  bool is_duplicate_ = false;
  bool is_draining_ = false;
  Status ended_;
};

}  // namespace perennial::tool
