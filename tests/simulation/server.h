#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include "cmd/perenniald/core/core.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/history.h"

namespace perennial::simulation {

// One life of a server: core on a disk, with connections that are strings and a clock that is
// moved. Whoever drives it says when a batch is handed over, and when it is done. Tells the history
// all that clients see, and what each batch leads to.
class Server {
 public:
  // Where answers go; the history, unless a planted bug comes between.
  using Deliver = std::function<void(ConnId, std::string_view)>;

  Server(core::Options options, Disk& disk, History& history, Nanos now);

  // Recovers. On failure nothing else may be called.
  Status start();
  void open(ConnId conn);
  void send(ConnId conn, std::string_view bytes);
  void close(ConnId conn);
  void advance(Nanos by);
  // Hands a batch over, if one is due and the disk is idle.
  void begin_commit();
  // Waits for the disk, if it has a batch. Then replies leave.
  void finish_commit();
  // Takes what became durable meanwhile.
  void look();
  // Commits until nobody waits for anything that time does not bring.
  void settle();
  // A clean end: all is answered, and the disk closed.
  Status stop();

  Nanos now() const { return now_; }
  uint64_t batches() const { return batches_; }
  void set_deliver(Deliver deliver) { deliver_ = std::move(deliver); }
  // Why it cannot go on. A read that failed ends a server.
  const Status& failure() const { return failure_; }

 private:
  void restore(const Disk::Found& found);
  void fold(const store::Batch& batch);
  void take(Disk::Done done);
  void check_memory();
  void pump();
  void serve_reads();
  bool deliver();

  Disk& disk_;
  History& history_;
  Deliver deliver_;
  std::unique_ptr<core::Core> core_;
  Nanos now_;
  engine::Image image_;  // After the last batch that was handed over.
  std::set<ConnId> open_;
  bool committing_ = false;
  BatchIndex answerable_ = 0;
  BatchIndex durable_ = 0;
  BatchIndex told_durable_ = 0;
  uint64_t batches_ = 0;
  Status failure_;
};

}  // namespace perennial::simulation
