#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cmd/common/socket.h"
#include "cmd/common/tool/server_connection.h"
#include "engine/types/extension.h"
#include "engine/types/note.h"
#include "wire/parser.h"

namespace perennial::tool::work {

// One connection to the server, and a seat for each runner that shares it. A runner speaks the
// protocol to its seat as if that were the server. Its commands are passed on and the replies
// passed back; only the reserves of all runners become one reserve-batch. So the connection never
// holds more jobs than there are runners that work or wait.
//
// The reserve-batch waits with abort:yes, because all runners would wait with it: any further
// command ends it, and it is then sent again.
class Exchange {
 public:
  // The extensions without which a server is no use here.
  static bool can_use(ExtensionSet allowed);

  // `server` watches the tubes of the worker. REQUIRES: can_use(allowed).
  Exchange(ServerConnection server, ExtensionSet allowed)
      : server_(std::move(server)), allowed_(allowed) {}

  void add_seat(common::Socket runner);
  // Waits until the server, a runner or `wake_fd` has something to say, and handles it, except
  // `wake_fd`. Io: the server is gone; the exchange is of no use any more.
  Status turn(int wake_fd);

 private:
  using Clock = std::chrono::steady_clock;
  using TimePoint = Clock::time_point;
  using SeatId = uint64_t;

  struct Seat {
    common::Socket socket;
    // Of its commands. None has a body but notes.
    std::unique_ptr<wire::Parser> parser = std::make_unique<wire::Parser>(note_bytes_max);
    std::optional<TimePoint> waits_until = {};  // The runner has asked for a job,
    bool is_asked_for = false;                  // and the server was asked for it.
    std::optional<JobId> job = {};              // What it has reserved.
  };
  // A command that was sent to the server, and has no reply yet.
  struct Request {
    enum class Kind : uint8_t {
      Forwarded,  // Of a seat.
      Reserve,    // The reserve-batch for all seats.
      Own         // Nobody waits for the reply.
    };
    Kind kind;
    SeatId seat = 0;
    bool ends_job = false;
    TimePoint sent_at = Clock::now();
  };

  int poll_ms() const;
  Status read_server();
  Status on_reply(const wire::ClientReply& reply);
  Status on_reserved(const wire::ClientReply& reply);
  // Tells all that wait for a job that the user may not reserve.
  void refuse(const wire::ClientReply& reply);
  void give(const wire::ClientReply& job);
  void give_back(JobId job);
  // Tells those that the server was asked for, and whose time is over.
  void time_out();
  void answer(const Request& request, const wire::ClientReply& reply);
  // False: the runner has left.
  bool read_seat(SeatId id);
  void on_command(SeatId id, const Command& command);
  void leave(SeatId id);

  void request(const Command& command, Request::Kind kind, SeatId seat = 0, bool ends_job = false);
  void reserve_if_wanted();
  // Ends the wait of a reserve-batch.
  void end_wait();
  uint64_t waiting_count() const;
  Status check_silence() const;

  ServerConnection server_;
  const ExtensionSet allowed_;
  std::map<SeatId, Seat> seats_;
  SeatId next_seat_ = 0;
  std::deque<Request> requests_;
  TimePoint heard_at_ = Clock::now();
  TimePoint retry_at_ = {};     // No reserve-batch before that.
  bool is_reserving_ = false;   // There is a reserve-batch without its reply,
  uint64_t asked_count_ = 0;    // which asks for so many jobs,
  bool is_wait_ended_ = false;  // and a command was sent behind it.
};

}  // namespace perennial::tool::work
