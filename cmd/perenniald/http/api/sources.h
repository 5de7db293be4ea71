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

namespace perennial::http {

// A file, or the files of a listener, that were read again.
struct FileRead {
  std::string name;
  std::string error = {};  // Empty: they are in use.
};

// What the API is made of. All of it outlives the API. It reads from the engine directly, so it
// shows what is about to be written, too; and it changes nothing but through clients of the queue.
struct ApiSources {
  const MetricSources& server;
  QueueClients& queue;
  SignIns& sign_ins;
  std::function<Nanos()> now;
  // Whether there are jobs to be asked for. Until then the engine belongs to another thread.
  std::function<bool()> is_loaded;
  std::function<ClusterHealth()> cluster;
  // Of a connection of the queue: where it comes from, "127.0.0.1:4711" or "unix"; empty if it is
  // gone.
  std::function<std::string(ConnId)> address_of;
  std::function<std::string_view(ConnId)> user_of;  // Empty: none.
  std::function<size_t(ConnId)> output_bytes_of;    // Of answers that have not left.
  // Ends it. False: it is gone.
  std::function<bool(ConnId)> close_connection;
  // Finds the jobs whose bodies are wanted, which is asked on another thread. The result comes
  // later.
  std::function<void(std::vector<JobId> jobs, std::function<bool(std::string_view body)> is_wanted,
                     std::function<void(std::vector<JobId> found)> done)>
      find_in_bodies;
  std::function<std::string()> configuration;  // The settings in force, as YAML, without secrets.
  const AuditLines& audit_lines;
  // Writes a line of the audit, for what no command of the queue does.
  std::function<void(const access::AuditEvent&)> audit;
  // Gate::on_refused.
  std::function<void(const access::AuditEvent&, std::optional<access::Verb> missing)> refused;
  // Reads the files of users and of TLS again, as SIGHUP does. Those that cannot be used change
  // nothing.
  std::function<std::vector<FileRead>()> reload;
};

}  // namespace perennial::http
