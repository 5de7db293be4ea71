#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/types/basic.h"

namespace perennial::store::etcd {

// A revision of etcd's whole key space. Each transaction that changes a key raises it by one. 0:
// none.
using Revision = int64_t;
// 0: no lease.
using LeaseId = int64_t;
using WatchId = uint64_t;
using TimerId = uint64_t;

// Why a call has no result.
enum class CallError : uint8_t {
  // The outcome is unknown: no answer by the deadline, a broken connection, a member without its
  // leader. etcd may have executed the call, or may still do so. Every error that is not listed
  // below is this one: etcd has answered UNAVAILABLE to transactions that it committed later.
  Unknown,
  NoSpace,        // The quota of etcd's database is used up. etcd accepts deletes only.
  TooLarge,       // The request has more than etcd's --max-request-bytes.
  Compacted,      // The revision that was asked for has been compacted.
  LeaseNotFound,  // The lease has expired or was revoked.
  Denied,         // The user may not do this, or the password is wrong.
  Invalid,        // etcd does not understand the request.
};
std::string_view name_of(CallError error);

struct Failure {
  CallError error = CallError::Unknown;
  std::string message;  // Says which member was asked, and what it said.
};

// The outcome of a call.
template <typename T>
using Outcome = std::variant<T, Failure>;
template <typename T>
using Done = std::function<void(Outcome<T>)>;

struct KeyValue {
  std::string key;
  std::string value;
  Revision create_revision = 0;
  Revision mod_revision = 0;
  int64_t version = 0;  // How often the key was written since its creation. 0: no such key.
  LeaseId lease = 0;
};

// One condition of a transaction.
struct Compare {
  enum class Field : uint8_t { Version, CreateRevision, ModRevision };
  enum class Is : uint8_t { Equal, NotEqual, Greater, Less };
  std::string key;
  Field field = Field::Version;
  Is is = Is::Equal;
  int64_t number = 0;  // A key that does not exist has 0 in all fields.
};

// All keys from `key` up to, but not including, `end`. `end` empty: `key` alone.
struct KeyRange {
  std::string key;
  std::string end = {};
};
// Returns the range of all keys that begin with `prefix`, which is not empty.
KeyRange keys_with_prefix(std::string_view prefix);

struct Put {
  std::string key;
  std::string value;
  LeaseId lease = 0;
};
struct Delete {
  KeyRange range;
};
struct Get {
  KeyRange range;     // The keys come in ascending order.
  int64_t limit = 0;  // The number of keys at most. 0: all.
  bool keys_only = false;
  Revision revision = 0;  // As of this revision. 0: the newest.
};
using Operation = std::variant<Put, Delete, Get>;

struct Transaction {
  std::vector<Compare> conditions;  // All must hold.
  std::vector<Operation> then;
  std::vector<Operation> otherwise;
};

struct Found {
  std::vector<KeyValue> keys;  // In the order that was asked for.
  int64_t count = 0;           // Of all keys in the range, also of those past the limit.
  bool more = false;           // There are more keys than the limit.
  // The revision at which it was read. In a transaction: that of the transaction.
  Revision revision = 0;
};

struct TransactionDone {
  bool held = false;  // The conditions held, and `then` was executed. False: `otherwise` was.
  Revision revision = 0;
  std::vector<Found> gets;  // One for each Get, in order.
};

struct LeaseGranted {
  LeaseId lease = 0;
  int64_t ttl_s = 0;
};
struct LeaseKept {
  int64_t ttl_s = 0;  // How long it lasts after the renewal.
};
struct LeaseLeft {
  int64_t ttl_s = 0;  // 0: the lease has expired, or never existed.
};
struct Compacted {};
struct LeaseRevoked {};

struct AlarmDisarmed {};

// What stops etcd until somebody disarms it. An alarm of one member stops all of them.
struct Alarm {
  enum class Kind : uint8_t {
    NoSpace,  // The database of the member has reached its quota. etcd accepts deletes only.
    Corrupt,  // The data of the member differs from that of the others. etcd answers nothing.
  };
  uint64_t member = 0;  // MemberStatus::id. The client may not have this member as an endpoint.
  Kind kind = Kind::NoSpace;

  auto operator<=>(const Alarm&) const = default;  // NOLINT: clang-tidy sees a 0 in it.
};
// The name that etcd and etcdctl print.
std::string_view name_of(Alarm::Kind kind);

// The status that one member reports.
struct MemberStatus {
  std::string endpoint;
  uint64_t id = 0;
  std::string version;
  int64_t database_bytes = 0;
  bool is_leader = false;
  bool has_leader = false;
  uint64_t term = 0;
  std::vector<Alarm> alarms = {};  // Of all members, as far as this one knows.
};

struct WatchEvent {
  bool is_delete = false;
  KeyValue key;  // Of a deleted key only `key` and `mod_revision` are set.
};

// What a watch reports. All events of one revision come in one report.
struct WatchEvents {
  std::vector<WatchEvent> events;  // May be empty: the watch is alive.
  // The revision of the last event so far: all changes up to it have been reported. Changes of
  // other keys do not raise it, so it may have been compacted if the watched keys do not change.
  Revision revision = 0;
};
// The watch has ended and reports nothing more. To continue, read the range and watch it again from
// the revision after that read.
struct WatchEnded {
  Revision compact_revision = 0;  // Not 0: the requested revision was compacted, up to this one.
  std::string message;
};
using WatchReport = std::variant<WatchEvents, WatchEnded>;

// The one thread on which a client of etcd and its users run, with its clock and its timers.
class Executor {
 public:
  virtual ~Executor() = default;

  // The time since the machine was booted, with the time in which it was suspended
  // (CLOCK_BOOTTIME), in nanoseconds. Thread-safe.
  virtual Nanos now() const = 0;
  // The machine's time of day, in nanoseconds since the epoch. It may be wrong, and jump.
  // Thread-safe.
  virtual Nanos wall() const = 0;
  // Calls `run` on the thread, after what was posted before. Thread-safe.
  virtual void post(std::function<void()> run) = 0;
  // Calls `run` once after `delay`. Called on the thread.
  virtual TimerId after(Nanos delay, std::function<void()> run) = 0;
  // Cancels the timer. Does nothing if it has fired. Called on the thread.
  virtual void cancel_timer(TimerId timer) = 0;
};

// A client of one etcd cluster, version 3.4 or later. It knows nothing of Perennial.
//
// All functions are called on the executor's thread, return at once, and call `done` there exactly
// once, never from inside the call. Each call has a deadline, a point in time of Executor::now(),
// by which `done` is called; the client then sends the next call to another member. The client
// never retries a call: only the caller knows whether a retry is safe. Reads are linearizable.
//
// The client is destroyed before its executor. Its destructor calls no `done`.
class Client {
 public:
  virtual ~Client() = default;

  virtual void get(Get request, Nanos deadline, Done<Found> done) = 0;
  virtual void commit(Transaction transaction, Nanos deadline, Done<TransactionDone> done) = 0;
  // Compacts the history: etcd discards all revisions before `revision`.
  virtual void compact(Revision revision, Nanos deadline, Done<Compacted> done) = 0;

  // ttl_s: at least 1; etcd may grant more.
  virtual void grant(int64_t ttl_s, Nanos deadline, Done<LeaseGranted> done) = 0;
  virtual void keep_alive(LeaseId lease, Nanos deadline, Done<LeaseKept> done) = 0;
  // Revokes the lease, which deletes its keys.
  virtual void revoke(LeaseId lease, Nanos deadline, Done<LeaseRevoked> done) = 0;
  // Reads how long a lease lasts, without renewing it. It may last longer: each election of etcd's
  // leader renews all leases.
  virtual void time_to_live(LeaseId lease, Nanos deadline, Done<LeaseLeft> done) = 0;

  // Watches the keys of the range, and reports their changes in order, from revision `from` on,
  // which is at least 1. The watch ends when its member loses etcd's leader, and after 15 s without
  // an answer; the client asks for progress more often than that.
  virtual WatchId watch(KeyRange range, Revision from, std::function<void(WatchReport)> report) = 0;
  // Cancels the watch. Does nothing if it has ended.
  virtual void cancel_watch(WatchId watch) = 0;

  // Asks the member with this place in the list of endpoints, and no other.
  virtual void member_status(size_t member, Nanos deadline, Done<MemberStatus> done) = 0;
  // Disarms the alarm, so that etcd serves again. If its cause persists, etcd raises it again.
  virtual void disarm(Alarm alarm, Nanos deadline, Done<AlarmDisarmed> done) = 0;
  virtual size_t members() const = 0;
  // Sends calls to this member from now on, until one of them fails with an unknown outcome. Does
  // nothing if the list of endpoints has become shorter. etcd's leader answers a transaction
  // soonest: any other member forwards it to the leader first.
  virtual void prefer(size_t member) = 0;
};

}  // namespace perennial::store::etcd
