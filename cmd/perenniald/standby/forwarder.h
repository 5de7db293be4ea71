#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cmd/perenniald/core/session.h"
#include "engine/types/basic.h"

namespace perennial::perenniald {

// Passes clients of a standby on to the leader, byte by byte: it knows no protocol, no socket and
// no clock. Each client has a connection of its own to the leader, and each of the two is a
// session, whose output is what the other one has read.
//
// The connection to the leader begins with the header of net/forward_header.h. A client that comes
// with too many of them was passed on in a circle, and is closed. So the leader is not dialled
// before the client has sent something, which begins with the headers if there are some, or was
// silent for a while: a standby sends its header at once, so whoever is silent comes from none.
//
// Except for these headers a client is not read before the leader is connected. So no command of it
// is lost if there is no leader: it waits for one for a bounded time, or until this node serves it.
// When the leader changes, old connections are closed, as after a restart of a server.
class Forwarder {
 public:
  // What it asks of the other parts.
  class Owner {
   public:
    virtual ~Owner() = default;
    // Opens a connection to the leader. `done` is called later, with its socket, or -1.
    virtual void dial(const std::string& address, std::function<void(int fd)> done) = 0;
    // Takes over the socket, and calls open_leader_side() with its connection. Returns false if
    // the system lacks the means: the socket is closed.
    virtual bool adopt(int fd) = 0;
    // Shuts down the sending side of a connection: its session sends nothing more, and still
    // reads.
    virtual void end_output(ConnId conn) = 0;
    // This client was passed on in a circle. It is about to be closed.
    virtual void on_circle(ConnId client) = 0;
  };
  // What was read from a client while it waited, if it has shut down its sending side meanwhile.
  struct Early {
    std::string bytes;
    bool ended = false;
  };

  // `wait_max`: how long a client waits for a leader. It gives its first bytes to its session when
  // it has sent something: the headers in front, perhaps none (PlainStream::Head::ForwardsFirst).
  Forwarder(Nanos wait_max, Owner& owner);
  ~Forwarder();

  core::Session& open_client(ConnId conn, Nanos now);
  // REQUIRES: it is called by Owner::adopt.
  core::Session& open_leader_side(ConnId conn);

  // Who leads, "HOST:PORT", and whether it reads the header. Empty: nobody, or this node. Ends the
  // connections to any other.
  void set_leader(std::string address, bool reads_forward_header);
  // Retries to reach the leader, and closes clients that have waited for too long. Call it several
  // times a second.
  void on_time(Nanos now);

  // The clients that are connected with no leader yet. take() removes one from this forwarder: its
  // session is destroyed without a call of on_close().
  std::vector<ConnId> waiting() const;
  Early take(ConnId client);

  // As those of Core.
  bool has_changed() const { return !changed_.empty(); }
  void take_changed(std::vector<ConnId>& changed);

  // How many clients are connected with the leader.
  size_t forwarded() const { return forwarded_; }

 private:
  class Side;

  void dial_if_due(Side& client);
  void on_dialled(ConnId client, const std::string& address, int fd);
  void changed(Side& side);

  const Nanos wait_max_;
  const Nanos silence_max_;
  Owner& owner_;
  std::string leader_;
  bool leader_reads_header_ = false;
  std::map<ConnId, std::unique_ptr<Side>> sides_;
  std::vector<ConnId> changed_;
  Side* adopting_ = nullptr;  // The client whose connection to the leader is being opened.
  size_t forwarded_ = 0;
};

}  // namespace perennial::perenniald
