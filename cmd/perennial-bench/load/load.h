#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/common/address.h"
#include "cmd/common/socket.h"
#include "cmd/common/tool/stop_signals.h"
#include "cmd/perennial-bench/load/bodies.h"
#include "cmd/perennial-bench/load/connection.h"
#include "cmd/perennial-bench/load/mixed_client.h"
#include "cmd/perennial-bench/results/recorder.h"
#include "engine/types/status.h"

namespace perennial::bench {

// Who works how. The kinds may be combined.
struct LoadSpec {
  uint32_t producers = 0;  // Connections that put.
  uint32_t in_flight = 1;  // Puts without an answer, on each of them.
  uint32_t workers = 0;    // Connections that reserve a job, delete it, and so on.
  // A worker sends the next reserve with the delete; otherwise when that is answered.
  bool reserve_ahead = false;
  uint32_t mixed = 0;  // Connections that do everything: mixed_client.h.
  uint32_t body_bytes = 128;
  // Jobs that are there at once, while somebody deletes jobs, too: at so many the producers wait,
  // each with the put that is due, until a delete is answered.
  uint64_t ahead_max = 4000;
  // Puts per second of all producers together; 0: as many as they can. Each is timed from when it
  // is due, so that a server that makes one wait is charged for all that wait behind it.
  uint32_t rate = 0;
  uint64_t seed = 1;  // Of the bodies, and of what mixed clients do.
};

// Drives a server: one thread, one epoll, prebuilt bytes, nothing allocated once it is open. The
// jobs are in a tube of this load only, so that it takes nobody else's. Any answer but the one that
// is due ends it with an error that quotes it; so do 30 seconds without any.
class Load {
 public:
  // `duration`: how long will be measured, for the recorder.
  Load(const LoadSpec& spec, Nanos duration, tool::StopSignals& signals);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  Status open(const common::Address& server);
  // Works for so long, and until so many of an operation have ended, for runs that are too short to
  // rely on any. What is in flight at the end stays so.
  Status run_for(Nanos duration, Operation counted = Operation::All, uint64_t at_least = 0);
  // Puts so many jobs, or takes so many that are there, and waits for all answers.
  // REQUIRES: there are producers only, or workers only.
  Status run_jobs(uint64_t count);

  Recorder& recorder() { return *recorder_; }
  // Where the jobs are; the same for two loads if it is handed on before open().
  const std::string& tube() const { return tube_; }
  void use_tube(std::string tube) { tube_ = std::move(tube); }

 private:
  enum class Role : uint8_t { Producer, Worker, Mixed };
  struct Client {
    Role role;
    Connection connection = {};
    uint32_t due = 0;  // Puts, or reserves, that would keep it busy.
    bool waiting = false;
    Nanos reserved_at = 0;  // A worker's: when the reserve of the job that it holds was sent.
    MixedClient mixed = MixedClient(0);
  };

  Status add_clients(const common::Address& server, Role role, uint32_t count, uint32_t requests);
  Status begin_all(Nanos now);
  // One round of the loop; waits until then for something to happen.
  Status turn(Nanos until);
  Status on_event(Client& client, uint32_t events);
  Status on_readable(Client& client);
  Status on_reply(Client& client, const Connection::Reply& reply, Nanos now);
  Status on_worker_reply(Client& client, const Connection::Reply& reply, Nanos now);
  void on_mixed_reply(Client& client, const Connection::Reply& reply, Nanos now);
  // Sends what is due, or notes that it waits.
  void fill(Client& client, Nanos now);
  bool may_put(Nanos now) const;
  bool may_begin(const Client& client, Nanos now) const;
  // When the next put is due, at a rate.
  Nanos next_put_at() const;
  void begin(Client& client, Nanos now);
  void begin_mixed(Client& client, Nanos now);
  void put(Client& client, Nanos now);
  Status fill_waiting();
  Status look_around(Nanos now);
  // Whether it is the body of a put of this load, whose time is then recorded.
  bool read_body(std::string_view body, Nanos now);

  // Delete, release or bury.
  void request_about(Client& client, Operation operation, JobId job, Nanos now);

  const LoadSpec spec_;
  tool::StopSignals& signals_;
  std::string tube_;
  std::unique_ptr<Recorder> recorder_;
  const Bodies bodies_;
  std::string put_bytes_;  // A whole put, with a place for the body.
  size_t body_at_ = 0;     // Where that is.
  int epoll_ = -1;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Client*> waiting_;
  std::vector<Client*> woken_;    // Of fill_waiting.
  uint64_t left_ = ~uint64_t{0};  // Jobs that may still be begun.
  uint64_t ended_ = 0;            // Jobs whose last answer has come.
  Nanos paced_from_ = 0;          // At a rate: when the first put was due,
  uint64_t paced_count_ = 0;      // and how many have been sent since.
  uint64_t put_count_ = 0;
  uint64_t deleted_count_ = 0;
  Nanos heard_at_ = 0;
  Nanos look_at_ = 0;
};

}  // namespace perennial::bench
