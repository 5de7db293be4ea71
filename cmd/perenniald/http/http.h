#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/common/newcomers.h"
#include "cmd/perenniald/access/client_rights.h"
#include "cmd/perenniald/core/session.h"
#include "cmd/perenniald/http/answer.h"
#include "cmd/perenniald/http/long_answers.h"
#include "cmd/perenniald/http/message.h"
#include "engine/types/basic.h"
#include "engine/types/histogram.h"

// The HTTP port: connections, and their requests in order. It knows no socket and no thread.
namespace perennial::http {

struct Limits {
  MessageLimits message = {};
  // Past it a connection without a request that is being answered gives way: common::Newcomers.
  size_t connections_max = 256;
  size_t per_address_max = 64;
  // common::Newcomers::Shares.
  std::function<bool(ConnId)> must_stay = {};
  // Answers that clients have not taken, of all connections together. Past it the one is given up
  // that has waited longest for its client.
  size_t output_bytes_max = 256 << 20;
  // Answers of several steps that are made at the same time. The others have made one step, and
  // wait for their turn: LongAnswers.
  size_t long_answers_max = 8;
  // The same of those that watch over the server, which have places of their own.
  size_t monitor_answers_max = 2;
  // A header must be whole so soon after its first byte, and a body after its header.
  Nanos request_time = 10 * nanos_per_second;
  // Frees a long text, which takes a millisecond for ten megabytes. Null: that is done at once.
  std::function<void(std::string)> free_elsewhere = {};
  // How long a connection may be open without a request.
  Nanos idle_time = 60 * nanos_per_second;
  // Requests behind one that is being answered: a connection with so many bytes is not read.
  size_t pipeline_bytes_max = 64 << 10;
  // For how long browsers that have come by TLS come by nothing else. 0: they forget that.
  uint64_t hsts_seconds = 0;
};

class Http {
 public:
  // Answers one request. The answer is never null, and does not outlive this.
  struct Handled {
    std::string_view route;  // For the counts: a constant, never what a client has sent.
    std::unique_ptr<Answer> answer;
    bool is_tls = false;          // The client has come by TLS, perhaps to a proxy.
    bool is_for_monitor = false;  // It waits for no long answer of another kind.
  };
  // `rights`: who the client is, as far as its connection shows that.
  using Handler = std::function<Handled(const Request&, const access::ClientRights& rights)>;
  // The counts of requests by route and status, for the metrics.
  using Counts = std::map<std::pair<std::string_view, unsigned>, uint64_t>;

  Http(const Limits& limits, Handler handler);
  ~Http();

  // ---- What happened.
  // `share`: the address for which it counts: common::Newcomers.
  core::Session& open(ConnId conn, Nanos now, access::ClientRights rights = {},
                      const std::string& share = {});
  // common::Newcomers::on_progress().
  void on_first_read(ConnId conn) { idle_.on_progress(conn); }
  // Closes connections whose time is over. Call it about once a second while there are any.
  void on_time(Nanos now);

  // ---- What to do.
  // Whether one more connection has a place: one is free, or another gives way. `more`: places
  // beyond those of all.
  bool has_slot(size_t more = 0) const {
    return idle_.count() > 0 || count() < limits_.connections_max + more;
  }
  bool has_idle() const { return idle_.count() > 0; }
  // A connection gives way on which nothing is asked, if there is one.
  void make_place() { give_way(idle_.first_to_give_way()); }
  size_t count() const { return sessions_.size() - leaving_; }
  // How many have given way.
  uint64_t gave_way() const { return gave_way_; }
  // Whether an answer waits for its next step.
  bool has_runnable() const { return !runnable_.empty(); }
  // REQUIRES: has_runnable().
  void run_next(Nanos now);
  // Replaces `changed` by the connections that have output, whose reading() has changed, or that
  // are finished. Each is listed once.
  void take_changed(std::vector<ConnId>& changed);
  bool has_changed() const { return !changed_.empty(); }

  const Counts& counts() const { return counts_; }
  // Answers are ready whose time was not recorded yet. It is called after run_next(), with the time
  // of the moment and not with that of the turn.
  void on_answers_ready(Nanos now);
  const LatencyHistogram& request_times() const { return request_times_; }

 private:
  class Session;

  void changed(Session& session);
  void become_idle(Session& session);
  void give_way(std::optional<ConnId> conn);
  // A sentence for people, where the bytes of a connection are refused with this status.
  std::string why_refused(Status status) const;
  LongAnswers& long_answers_of(const Session& session);
  bool begin_long_answer(const Session& session);
  void end_long_answer(const Session& session);
  void on_output(Session& session);
  void free_text(std::string& text);
  void keep_output_bounded(const Session& newest);

  const Limits limits_;
  const Handler handler_;
  std::map<ConnId, std::unique_ptr<Session>> sessions_;
  common::Newcomers idle_;  // Those without a request that is being answered.
  size_t leaving_ = 0;      // Of sessions_: those that have given way.
  uint64_t gave_way_ = 0;
  LongAnswers long_answers_;
  LongAnswers monitor_answers_;
  size_t output_bytes_ = 0;    // Of all sessions.
  std::list<ConnId> untaken_;  // Sessions with output, by the time since they have some.
  std::deque<ConnId> runnable_;
  std::vector<ConnId> changed_;
  Counts counts_;
  std::vector<Nanos> begun_;  // When the requests began whose answers are ready.
  LatencyHistogram request_times_;
};

}  // namespace perennial::http
