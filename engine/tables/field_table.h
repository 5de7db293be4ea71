#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/containers/job.h"
#include "engine/tables/tube.h"
#include "engine/types/basic.h"
#include "engine/types/command.h"
#include "engine/types/id_map.h"
#include "engine/types/job_fields.h"

namespace perennial::engine {

// The optional fields of jobs by id, because few jobs have them; and what is in force for a job:
// its own option, or else the setting of its tube. Owns the fields.
//
// Invariant: fields that are there have a value that is set, except between make() and
// drop_if_empty(). `expires_at` of a job that is ready or delayed changes only within
// JobTable::change(), which has the order of expiries.
class FieldTable {
 public:
  FieldTable() = default;
  ~FieldTable();
  FieldTable(const FieldTable&) = delete;
  FieldTable& operator=(const FieldTable&) = delete;

  // Null: the job has none.
  JobFields* of(const Job& job) { return job.has_fields ? *fields_.find(job.id) : nullptr; }
  const JobFields* of(const Job& job) const {
    return job.has_fields ? *fields_.find(job.id) : nullptr;
  }
  JobFields& make(Job& job);
  void drop(Job& job);
  // Drops the fields if none of them is set.
  void drop_if_empty(Job& job);
  // Those of a job that is put now. A tube's `expire` is applied here, because it counts from here.
  // `put_by`: the user, where that is remembered.
  void make_from(Job& job, const PutOptions& options, const Tube& tube, Nanos now,
                 std::string_view put_by);

  // The delay and the ttr, with what is below a second.
  Nanos delay_of(const Job& job) const;
  Nanos ttr_of(const Job& job) const;
  void set_delay(Job& job, Nanos delay);
  void set_ttr(Job& job, Nanos ttr);

  // Null: the job has none.
  const ConcurrencyKey* concurrency_of(const Job& job) const;
  // When the job expires while it is in its state; 0: never.
  Nanos expiry_of(const Job& job) const;
  // Those in force; 0, or empty: none. `tube`: that of the job.
  uint32_t tries_of(const Job& job, const Tube& tube) const;
  Backoff backoff_of(const Job& job, const Tube& tube) const;
  const std::string& dead_tube_of(const Job& job, const Tube& tube) const;

  size_t size() const { return fields_.size(); }
  // An estimate, in bytes.
  size_t memory_bytes() const;
  // Calls `visit(id, fields)` in the order of ids, until it returns false.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (auto entry = fields_.first_from(0); entry.value != nullptr;
         entry = fields_.first_from(entry.id + 1)) {
      if (!visit(entry.id, static_cast<const JobFields&>(**entry.value))) return;
    }
  }

 private:
  IdMap<JobFields*> fields_;  // Owned.
};

}  // namespace perennial::engine
