#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/types/basic.h"
#include "store/etcd/etcd.h"
#include "tests/support/etcd_faults.h"
#include "tests/support/etcd_model.h"
#include "tests/support/virtual_time.h"

namespace perennial::support {

// A cluster of etcd in virtual time: one EtcdModel, the network between it and its clients, leases
// that expire, watches, and faults. Deadlines of calls are points in time of the node's clock.
//
// Faults never break what etcd guarantees: every call happens at one moment or never, also after
// its outcome was reported as Unknown; a watch reports in order, and all events of a revision at
// once. Two faults, restore() and replace(), take back what happened, as they do in etcd.
//
// It lives until the VirtualTime runs no more, and longer than its clients.
class FakeEtcd {
 public:
  struct Options {
    uint64_t seed = 1;
    EtcdModel::Limits limits = {};
    EtcdFaults faults = {};
    size_t members = 3;
  };
  // Of the calls that arrive while there is no majority.
  enum class Held : uint8_t { Dropped, Kept, Drawn };

  FakeEtcd(VirtualTime& time, Options options);
  ~FakeEtcd();
  FakeEtcd(const FakeEtcd&) = delete;
  FakeEtcd& operator=(const FakeEtcd&) = delete;

  std::unique_ptr<etcd::Client> connect(VirtualTime::Node& node);
  const EtcdModel& model() const { return model_; }

  // What is drawn from the seed from now on.
  void set_faults(const EtcdFaults& faults);
  // Ends everything that lasts: nobody is cut off, there is a majority and space, and no faults are
  // drawn any more. Calls that are on their way still arrive.
  void heal();

  // The next call of this kind from the node has this fate. Several calls: in the order of plan().
  void plan(const VirtualTime::Node& node, CallKind kind, CallFate fate);
  // Nothing reaches etcd from the node, or the node from etcd. Its watches end within 15 s.
  void cut_off(const VirtualTime::Node& node, bool is_cut_off = true);
  // All calls are Unknown at their deadlines and all watches end, and no lease expires.
  void lose_majority(Held held = Held::Drawn);
  // Elects a leader and does what was kept.
  void regain_majority();
  // Another member leads: all leases get up to their whole time again.
  void elect();
  // The lease expires now. Does nothing if it is gone, or without a majority.
  void end_lease(etcd::LeaseId lease);
  void end_watches(const VirtualTime::Node& node);
  // The node's watches report nothing for this time, which is at most 10 s.
  void delay_watches(const VirtualTime::Node& node, Nanos time);
  // Another program compacts the history.
  void compact(etcd::Revision revision);
  // Another program has filled the quota; or it is defragmented and the alarm disarmed.
  void set_full(bool is_full);
  // As an operator does at each member.
  void defragment();
  // Puts a snapshot, which is a copy of model(), in the place of what is there. What was on its way
  // is lost, and watches end.
  void restore(EtcdModel snapshot);
  // Another, empty cluster answers at the same addresses.
  void replace();

 private:
  class NodeClient;
  using ClientId = uint64_t;
  using Answer =
      std::variant<etcd::Found, etcd::TransactionDone, etcd::Compacted, etcd::LeaseGranted,
                   etcd::LeaseKept, etcd::LeaseRevoked, etcd::LeaseLeft, etcd::MemberStatus,
                   etcd::AlarmDisarmed, etcd::Failure>;
  using Act = std::function<Answer(FakeEtcd&)>;
  struct Call {
    ClientId client = 0;
    uint64_t number = 0;
    CallKind kind = CallKind::Get;
    Act act = {};
    uint64_t incarnation = 0;
    CallFate fate = {};
  };
  struct LeaseClock {
    Nanos expires_at = 0;
    etcd::TimerId timer = 0;
  };
  using WatchKey = std::pair<ClientId, etcd::WatchId>;
  struct Watch {
    etcd::KeyRange range;
    etcd::Revision next = 0;      // Everything before it is reported.
    etcd::Revision reported = 0;  // Of the last event, or from before the watch began.
    bool is_scheduled = false;
  };

  // Null when the client has ended.
  NodeClient* find(ClientId client);
  bool is_cut_off(ClientId client);
  Nanos draw(Nanos max);
  bool is_drawn(uint32_t per_mille);
  CallFate draw_fate(const VirtualTime::Node& node, CallKind kind, Nanos time_left);

  void send(Call call, Nanos time_left);
  void arrive(const Call& call);
  void answer(ClientId client, uint64_t number, Answer answer);

  Answer grant(int64_t ttl_s);
  Answer keep_alive(etcd::LeaseId lease);
  Answer revoke(etcd::LeaseId lease);
  Answer time_to_live(etcd::LeaseId lease) const;
  Answer status(size_t member) const;
  Answer disarm(const etcd::Alarm& alarm);
  void start_clock(etcd::LeaseId lease, int64_t ttl_s);
  void set_clock(etcd::LeaseId lease, Nanos expires_at);

  void send_watch(WatchKey key, etcd::KeyRange range, etcd::Revision from);
  void open_watch(WatchKey key, etcd::KeyRange range, etcd::Revision from);
  void end_watch(WatchKey key, etcd::WatchEnded ended, Nanos delay);
  void end_all_watches(Nanos delay_max, const std::string& message);
  void end_watches_of(const VirtualTime::Node& node, Nanos delay_max, const std::string& message);
  void notify_watches();
  void schedule_report(WatchKey key);
  void report_signs_of_life(WatchKey key);
  void report(WatchKey key, bool is_sign_of_life);

  // Does `fault` again and again, every `every` on average, until other faults are set.
  void repeat(Nanos every, const std::function<void()>& fault);
  template <typename Map>
  typename Map::iterator drawn_from(Map& map);
  void draw_cut_off();
  void draw_full();
  void draw_lost_majority();
  void draw_restore();

  VirtualTime::Node& machine_;  // Runs what happens in etcd and in the network.
  Options options_;
  EtcdFaults faults_;
  uint64_t faults_set_ = 0;  // How often the faults have been set.
  std::mt19937_64 random_;
  EtcdModel model_;
  uint64_t incarnation_ = 0;  // How often another state has taken the place of this one.
  size_t leader_ = 0;
  uint64_t term_ = 2;
  bool has_majority_ = true;
  Held held_ = Held::Drawn;
  std::vector<Call> held_calls_;
  ClientId last_client_ = 0;
  std::map<ClientId, NodeClient*> clients_;
  std::map<std::pair<size_t, CallKind>, std::deque<CallFate>> plans_;
  std::set<size_t> cut_off_;                 // Numbers of nodes.
  std::map<size_t, Nanos> watches_delayed_;  // Until when, by the numbers of nodes.
  std::map<etcd::LeaseId, LeaseClock> clocks_;
  std::map<WatchKey, Watch> watches_;
};

}  // namespace perennial::support
