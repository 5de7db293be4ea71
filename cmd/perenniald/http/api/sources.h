#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perenniald/http/api/audit_lines.h"
#include "cmd/perenniald/http/health.h"
#include "cmd/perenniald/http/metrics.h"
#include "cmd/perenniald/http/queue_client.h"
#include "cmd/perenniald/http/sign_in.h"
#include "engine/types/body.h"
#include "engine/types/calendar.h"
#include "engine/types/ended_groups.h"

namespace perennial::http {

// A file, or the files of a listener, that were read again.
struct FileRead {
  std::string name;
  std::string error = {};  // Empty: they are in use.
};

// What the API is made of. It outlives the API, and what it refers to does, too. The API reads from
// the engine directly, so it shows what is about to be written, too; and it changes nothing but
// through clients of the queue.
class ApiSources : public MetricSources {
 public:
  virtual QueueClients& queue() = 0;
  virtual SignIns& sign_ins() = 0;
  virtual Nanos now() = 0;
  // Whether there are jobs to be asked for. Until then the engine belongs to another thread.
  virtual bool is_loaded() = 0;
  virtual ClusterHealth cluster_health() = 0;
  // Asks this leader of a cluster to hand over. Returns why that cannot be; empty: it was asked.
  virtual std::string ask_handover() = 0;
  // How many requests may wait for jobs at the same time. They keep their connections, and others
  // need some, too.
  virtual size_t waiters_max() = 0;
  // Of a connection of the queue: where it comes from, "127.0.0.1:4711" or "unix"; empty if it is
  // gone.
  virtual std::string address_of(ConnId conn) = 0;
  virtual std::string_view user_of(ConnId conn) = 0;  // Empty: none.
  virtual size_t output_bytes_of(ConnId conn) = 0;    // Of answers that have not left.
  // How many jobs its unfinished operation has changed. None: it has none.
  virtual std::optional<uint64_t> operation_progress(ConnId conn) = 0;
  // Of a schedule. Null: there is none. Valid until the queue does anything.
  virtual const Body* schedule_body(const std::string& name) = 0;
  // When schedules are due; null: there are none. And what the wall clock shows.
  virtual const Calendar* calendar() = 0;
  virtual Nanos wall() = 0;
  // Ends it. False: it is gone.
  virtual bool close_connection(ConnId conn) = 0;
  // Finds the jobs whose bodies are wanted, which is asked on another thread. `done` is called
  // later, on the loop.
  virtual void find_in_bodies(std::vector<JobId> jobs,
                              std::function<bool(std::string_view body)> is_wanted,
                              std::function<void(std::vector<JobId> found)> done) = 0;
  // Reads a page of the jobs that have ended in these tubes. `done` is called later, on the loop.
  virtual void list_ended(EndedGroupsQuery query,
                          std::function<void(EndedGroupsPage page)> done) = 0;
  virtual std::string configuration() = 0;  // The settings in force, as YAML, without secrets.
  virtual const AuditLines& audit_lines() = 0;
  // Writes a line of the audit, for what no command of the queue does.
  virtual void audit(const access::AuditEvent& event) = 0;
  // Gate::on_refused.
  virtual void refused(const access::AuditEvent& event, std::optional<access::Verb> missing) = 0;
  // Reads the files of users and of TLS again, as SIGHUP does. Those that cannot be used change
  // nothing.
  virtual std::vector<FileRead> reload() = 0;
};

}  // namespace perennial::http
