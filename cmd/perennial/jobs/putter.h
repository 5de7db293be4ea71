#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/common/tool/server_connection.h"

namespace perennial::tool {

// Puts bodies, several of them before it reads the replies, and prints the id of each job. Warns of
// lines that the server refuses. Or it keeps all of that for report().
class Putter {
 public:
  struct Format {
    bool has_lines = false;  // Each body is a line of the input: one refused does not end the rest.
    bool json = false;       // It prints nothing before report().
  };
  // `server` outlives the putter, and uses `tube`. `put` has everything but the size of a body.
  Putter(ServerConnection& server, std::string tube, Put put, Format format)
      : server_(server), tube_(std::move(tube)), put_(std::move(put)), format_(format) {}

  // Fails if further puts would fail, too.
  Status add(std::string_view body);
  // Reads all outstanding replies. Fails as add() does.
  Status flush_batch();

  // Prints what was put and refused so far, as one object of JSON.
  void report() const;

  uint64_t failures() const { return failures_; }
  uint64_t answered() const { return answered_; }
  // Whether a put was answered with the job that has its key.
  bool is_duplicate() const { return is_duplicate_; }

 private:
  // What was answered to a put that was not refused.
  struct Inserted {
    JobId id;
    std::string state;  // Of the job that has the key. Empty: the job is new.
  };
  struct Refused {
    uint64_t line;
    std::string message;
  };

  uint64_t done() const { return answered_ - failures_; }
  void take(const wire::ClientReply& reply);
  Status say_what_drains();
  void take_inserted(const wire::ClientReply& reply);

  ServerConnection& server_;
  const std::string tube_;
  Put put_;
  const Format format_;
  size_t in_flight_ = 0;
  uint64_t answered_ = 0;
  uint64_t failures_ = 0;
  bool is_duplicate_ = false;
  bool is_draining_ = false;
  Status ended_;
  std::vector<Inserted> inserted_;  // These two only for JSON.
  std::vector<Refused> refused_;
};

}  // namespace perennial::tool
