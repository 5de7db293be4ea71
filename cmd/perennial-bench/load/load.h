#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/common/socket.h"
#include "cmd/common/tool/stop_signals.h"
#include "cmd/perennial-bench/load/bodies.h"
#include "cmd/perennial-bench/load/connection.h"
#include "cmd/perennial-bench/load/mixed_client.h"
#include "cmd/perennial-bench/results/recorder.h"
#include "cmd/perennial-bench/servers/target.h"
#include "engine/types/status.h"

namespace perennial::bench {

// The number and kind of the clients. The kinds may be combined.
struct LoadSpec {
  uint32_t producers = 0;  // Connections that put jobs.
  uint32_t in_flight = 1;  // Unanswered puts on each of them.
  uint32_t workers = 0;    // Connections that reserve and delete jobs.
  // Whether a worker sends the next reserve together with the delete, or after its answer.
  bool reserve_ahead = false;
  uint32_t mixed = 0;    // Connections that send everything: mixed_client.h.
  uint32_t cyclers = 0;  // Connections that put, reserve and delete, one step after the other.
  uint32_t batch = 1;    // Jobs of a cycler at a time. More than one are sent as batches.
  uint32_t body_bytes = 128;
  // The limit of existing jobs while there are workers. At the limit each producer waits with its
  // next put until a delete is answered.
  uint64_t ahead_max = 4000;
  // Puts per second of all producers together; 0 means as many as possible. Each put is timed from
  // the moment at which it is due, so that a slow answer is charged for all puts that wait behind
  // it.
  uint32_t rate = 0;
  uint64_t seed = 1;  // For bodies and for the choices of mixed clients.
};

// Drives a server with one thread, one epoll and prebuilt bytes, and allocates nothing once it is
// open. The jobs are in a tube of this load, so that it takes no other jobs. An unexpected answer
// ends the load with an error that quotes it, and so do 30 seconds without an answer.
class Load {
 public:
  // `duration` is the time that will be measured, for the recorder.
  Load(const LoadSpec& spec, Nanos duration, tool::StopSignals& signals);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  Status open(const Target& server);
  // Runs for this time, and until `at_least` operations of this kind have ended, for runs that are
  // too short to guarantee any. Requests in flight at the end stay in flight.
  Status run_for(Nanos duration, Operation counted = Operation::All, uint64_t at_least = 0);
  // Puts this many jobs, or reserves and deletes this many existing ones, and waits for all
  // answers. REQUIRES: there are only producers or only workers.
  Status run_jobs(uint64_t count);

  Recorder& recorder() { return *recorder_; }
  // The tube of the jobs. Two loads share it if it is passed on before open().
  const std::string& tube() const { return tube_; }
  void use_tube(std::string tube) { tube_ = std::move(tube); }

 private:
  enum class Role : uint8_t { Producer, Worker, Mixed, Cycler };
  struct Client {
    Role role;
    Connection connection = {};
    uint32_t due = 0;  // Puts or reserves that the client may send now.
    bool waiting = false;
    Nanos reserved_at = 0;    // For a worker: when the reserve of its job was sent.
    Nanos cycle_at = 0;       // For a cycler: when the put of its jobs was sent,
    uint64_t cycle_jobs = 0;  // and how many of them it has reserved.
    MixedClient mixed = MixedClient(0);
  };

  void prepare_put();
  void prepare_batches();
  Status add_clients(const Target& server, Role role, uint32_t count, uint32_t requests);
  Connection::Limits limits_of(Role role, uint32_t requests) const;
  Status begin_all(Nanos now);
  // One round of the loop, which waits for events until this time.
  Status turn(Nanos until);
  Status on_event(Client& client, uint32_t events);
  Status on_readable(Client& client);
  Status on_reply(Client& client, const Connection::Reply& reply, Nanos now);
  Status on_worker_reply(Client& client, const Connection::Reply& reply, Nanos now);
  void on_mixed_reply(Client& client, const Connection::Reply& reply, Nanos now);
  void begin_cycle(Client& client, Nanos now);
  Status on_cycler_reply(Client& client, const Connection::Reply& reply, Nanos now);
  // Requests the delete of the jobs in the reply to a reserve-batch.
  Status delete_batch(Client& client, const Connection::Reply& reply, Nanos now);
  static Status strange_body(std::string_view line);
  // Sends what is due, or records that the client waits.
  void fill(Client& client, Nanos now);
  bool may_put(Nanos now) const;
  bool may_begin(const Client& client, Nanos now) const;
  // The time of the next put at a fixed rate.
  Nanos next_put_at() const;
  void begin(Client& client, Nanos now);
  void begin_mixed(Client& client, Nanos now);
  void put(Client& client, Nanos now);
  Status fill_waiting();
  Status check_progress(Nanos now);
  // Whether the body belongs to a put of this load. Records its time if so.
  bool read_body(std::string_view body, Nanos now);

  // Requests delete, release or bury for the job.
  void request_about(Client& client, Operation operation, JobId job, Nanos now);

  const LoadSpec spec_;
  tool::StopSignals& signals_;
  std::string tube_;
  std::unique_ptr<Recorder> recorder_;
  const Bodies bodies_;
  std::string put_bytes_;  // A complete put with space for the body.
  size_t body_at_ = 0;     // The offset of that space.
  // The same for batches: the offset of the first body, and the distance of the next one.
  std::string put_batch_bytes_;
  size_t put_batch_body_at_ = 0;
  size_t put_batch_stride_ = 0;
  std::string reserve_batch_line_;
  std::string delete_batch_line_;  // Used by delete_batch.
  int epoll_ = -1;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Client*> waiting_;
  std::vector<Client*> woken_;    // Used by fill_waiting.
  uint64_t left_ = ~uint64_t{0};  // Jobs that may still be started.
  uint64_t ended_ = 0;            // Jobs whose last answer has arrived.
  Nanos paced_from_ = 0;          // At a rate: the time of the first put,
  uint64_t paced_count_ = 0;      // and the number of puts sent since.
  uint64_t put_count_ = 0;
  uint64_t deleted_count_ = 0;
  Nanos heard_at_ = 0;
  Nanos look_at_ = 0;
};

}  // namespace perennial::bench
