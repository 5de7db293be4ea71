#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/containers/heap.h"
#include "engine/tables/conn.h"
#include "engine/tables/field_table.h"
#include "engine/tables/tube_table.h"
#include "engine/tables/turn.h"
#include "engine/types/basic.h"
#include "engine/types/option_values.h"

namespace perennial::engine {

// How a reservation waits, and what its reply tells.
struct Wait {
  std::optional<Nanos> timeout;  // Without a value the wait has no end.
  JobFacts with = {};
  uint32_t batch = 0;  // As Conn::wait_batch.
};

// The connections: by number, and by their next deadline; which tubes each uses and watches, and
// which wait. Owns them. Decides nothing about jobs.
//
// The deadline of a connection is the end of its first reservation or of its wait; while it waits,
// it is earlier by deadline_margin(), because DEADLINE_SOON is due then. A closing connection has
// none: its reservations are given back by an operation.
//
// Most of its functions keep the memory of watch lists, a count or a deadline true.
class ConnTable {
 public:
  // REQUIRES: all outlive it.
  ConnTable(Turn& turn, const FieldTable& fields, TubeTable& tubes)
      : turn_(turn), fields_(fields), tubes_(tubes) {}
  ConnTable(const ConnTable&) = delete;
  ConnTable& operator=(const ConnTable&) = delete;

  struct Counts {
    uint64_t open = 0;
    uint64_t producers = 0;
    uint64_t workers = 0;
    uint64_t waiting = 0;
    uint64_t total = 0;  // That were ever open.
  };

  // Aborts the process if there is none.
  Conn& of(ConnId id);
  const Conn& of(ConnId id) const { return const_cast<ConnTable*>(this)->of(id); }
  // Null: there is none.
  const Conn* find(ConnId id) const;
  // In no order.
  const absl::flat_hash_map<ConnId, std::unique_ptr<Conn>>& all() const { return conns_; }
  const Counts& counts() const { return counts_; }
  // An estimate, in bytes.
  size_t memory_bytes() const;

  // ---- Come and go.
  // It uses and watches the tube default. REQUIRES: there is none of this number.
  void open(ConnId id, bool is_internal);
  // The connection of the jobs that were reserved before the restart: of number 0, without a
  // client, and closing. Its attempts do not count. Made once.
  static constexpr ConnId former = 0;
  Conn& make_former();
  // Counts it no more, and ends its wait.
  void begin_close(Conn& conn, bool attempts_count);
  // A closing connection leaves the tubes that it watches, and then the tube that it uses; each may
  // end then. After the last conn.uses_tube is false. REQUIRES: conn.uses_tube.
  void leave_next_tube(Conn& conn);
  void erase(ConnId id) { conns_.erase(id); }
  void count_as_producer(Conn& conn);
  void count_as_worker(Conn& conn);

  // ---- Tubes. The old tube of use() may end.
  void use(Conn& conn, Tube& tube);
  // REQUIRES: the connection does not watch the tube.
  void watch(Conn& conn, Tube& tube);
  // REQUIRES: the connection watches the tube. It may end then.
  void ignore(Conn& conn, Tube& tube);
  void set_weight(Conn& conn, const Tube& tube, uint32_t weight);
  // Called before a choice by weight with the watched tubes that have jobs.
  void begin_choice(Conn& conn, const std::vector<TubeId>& tubes);
  // Called when the connection gets a job because it asked for any.
  void count_share(Conn& conn, TubeId tube);

  // ---- Waits.
  // REQUIRES: it does not wait.
  void start_waiting(Conn& conn, const Wait& wait);
  // REQUIRES: it waits.
  void stop_waiting(Conn& conn);

  // ---- Deadlines.
  // Puts the next deadline of the connection in its place. The job table calls it when the first
  // reservation of the connection may be another.
  void schedule(Conn& conn);
  // Whether DEADLINE_SOON is due: the end of a reservation is near.
  bool deadline_soon(const Conn& conn) const;
  // The connection whose deadline is first. Null: none is due by now.
  Conn* first_due();
  std::optional<Nanos> next_deadline() const;

 private:
  friend struct Check;

  static Nanos deadline_margin(Nanos ttr);
  // `edit` changes the watch list.
  template <typename Edit>
  void edit_watched(Conn& conn, Edit edit) {
    const size_t before = conn.watched.memory_bytes();
    edit(conn.watched);
    watched_bytes_ += conn.watched.memory_bytes() - before;
  }

  Turn& turn_;
  const FieldTable& fields_;
  TubeTable& tubes_;

  absl::flat_hash_map<ConnId, std::unique_ptr<Conn>> conns_;
  IndexedHeap<Conn, &Conn::deadline_index> by_deadline_;
  size_t watched_bytes_ = 0;  // The memory of all watch lists.
  Counts counts_;
};

}  // namespace perennial::engine
