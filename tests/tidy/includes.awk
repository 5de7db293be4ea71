# Which folder may include which, and which library: house style, "Layers". Prints every other edge.

BEGIN {
  # Ours, besides its own.
  own["engine/types"] = ""
  own["engine/view"] = "engine/types"
  own["engine/containers"] = "engine/types"
  own["engine/tables"] = "engine/containers engine/types engine/view"
  own["engine/statistics"] = "engine/tables engine/types engine/view"
  own["engine/rules"] = "engine/statistics engine/tables engine/types"
  own["engine/operations"] = "engine/rules engine/tables engine/types"
  own["engine/commands"] = "engine/operations engine/rules engine/statistics engine/tables engine/types engine/view"
  own["engine"] = "engine/commands engine/operations engine/rules engine/statistics engine/tables engine/types engine/view"
  own["wire"] = "engine/types"
  own["store/format"] = "engine/types"
  own["store/types"] = "store/format engine/types"
  own["store/batch"] = "store/format engine/types"
  own["store/disk"] = "store/format store/types engine/types"
  own["store/space"] = "store/disk store/types engine/types"
  own["store/damage"] = "store/disk store/format store/types engine/types"
  own["store/rocks"] = "store/damage store/format store/space store/types engine/types"
  own["store/recovery"] = "store/disk store/format store/rocks store/types engine/types"
  own["store/salvage"] = "store/damage store/disk store/format store/recovery store/rocks store/types engine/types"
  own["store"] = "store/batch store/damage store/disk store/format store/recovery store/rocks store/salvage store/space store/types engine/types"
  own["store/commit"] = "store store/batch store/format store/rocks store/types engine/types"
  own["store/etcd"] = "store/commit store/batch engine/types"
  own["store/cluster"] = "store store/batch store/commit store/etcd store/format store/types engine/types"
  own["store/checkpoint"] = "store store/disk store/format store/recovery store/types engine/types"
  own["store/offline"] = "store store/salvage store/checkpoint store/damage store/disk store/format store/recovery store/rocks store/space store/types engine/types"
  own["migrations"] = "store store/disk store/format store/offline store/types engine/types"
  own["cmd/common"] = "engine/types"
  own["cmd/common/calendar"] = "cmd/common engine/types"
  own["cmd/common/yaml"] = ""
  own["cmd/common/tls"] = "cmd/common engine/types"
  own["cmd/common/peer"] = "cmd/common engine/types"
  own["cmd/common/tool"] = "cmd/common cmd/common/tls wire engine/types"
  own["cmd/perenniald/tls"] = "cmd/common engine/types"
  own["cmd/perenniald/process"] = "cmd/common engine/types"
  own["cmd/perenniald/config"] = "cmd/common cmd/common/peer cmd/common/yaml cmd/perenniald/access cmd/perenniald/core cmd/perenniald/tls wire store/types engine/types"
  own["cmd/perenniald/loop"] = "engine/types"
  own["cmd/perenniald/access"] = "cmd/common engine/types engine/view"
  own["cmd/perenniald/core/batches"] = "engine/types engine/view store/batch"
  own["cmd/perenniald/core"] = "cmd/common cmd/perenniald/access cmd/perenniald/core/batches engine engine/view wire store/batch store/types engine/types"
  own["cmd/perenniald/net/streams"] = "cmd/common cmd/perenniald/loop cmd/perenniald/tls engine/types"
  own["cmd/perenniald/net/threads"] = "cmd/common cmd/perenniald/loop cmd/perenniald/net/streams cmd/perenniald/tls engine/types"
  own["cmd/perenniald/net"] = "cmd/common cmd/perenniald/core cmd/perenniald/loop cmd/perenniald/net/streams cmd/perenniald/net/threads cmd/perenniald/process cmd/perenniald/tls engine/types"
  own["cmd/perenniald/http"] = "cmd/common cmd/perenniald/access cmd/perenniald/core engine/view wire engine/types"
  own["cmd/perenniald/http/leases"] = "cmd/common cmd/perenniald/access cmd/perenniald/http engine/view wire engine/types"
  own["cmd/perenniald/http/api"] = "cmd/common cmd/common/calendar cmd/perenniald/access cmd/perenniald/core cmd/perenniald/http cmd/perenniald/http/leases engine/view wire engine/types"
  own["cmd/perenniald/console"] = ""
  own["cmd/perenniald/http/routes"] = "cmd/common cmd/perenniald/access cmd/perenniald/console cmd/perenniald/core cmd/perenniald/http cmd/perenniald/http/api engine/types"
  own["cmd/perenniald/checkpoints"] = "cmd/perenniald/core cmd/perenniald/loop cmd/perenniald/process store/checkpoint store/commit store/types engine/types"
  own["cmd/perenniald/etcd"] = "cmd/perenniald/config cmd/perenniald/process cmd/perenniald/tls store/etcd engine/types"
  own["cmd/perenniald/snapshot"] = "cmd/common/peer cmd/perenniald/config cmd/perenniald/etcd cmd/perenniald/http cmd/perenniald/process store store/checkpoint store/cluster store/disk store/etcd engine/types"
  own["cmd/perenniald/cluster"] = "cmd/common cmd/perenniald/config cmd/perenniald/etcd cmd/perenniald/process cmd/perenniald/snapshot store store/cluster store/commit store/disk store/etcd engine/types"
  own["cmd/perenniald/standby"] = "cmd/common cmd/perenniald/core cmd/perenniald/net cmd/perenniald/net/streams engine/types"
  own["cmd/perenniald/server/bodies"] = "cmd/perenniald/core cmd/perenniald/loop cmd/perenniald/process store store/batch store/types engine/types"
  own["cmd/perenniald/server"] = "cmd/common cmd/common/calendar cmd/perenniald/access cmd/perenniald/checkpoints cmd/perenniald/cluster cmd/perenniald/config cmd/perenniald/core cmd/perenniald/http cmd/perenniald/http/api cmd/perenniald/http/routes cmd/perenniald/loop cmd/perenniald/net cmd/perenniald/net/streams cmd/perenniald/net/threads cmd/perenniald/process cmd/perenniald/server/bodies cmd/perenniald/snapshot cmd/perenniald/standby cmd/perenniald/tls wire store store/batch store/commit store/types engine/types"
  own["cmd/perenniald"] = "cmd/common cmd/perenniald/config cmd/perenniald/process cmd/perenniald/server engine/types"
  own["cmd/perennial-bench/command"] = "cmd/common/tls cmd/common/tool engine/types"
  own["cmd/perennial-bench/results"] = "engine/types"
  own["cmd/perennial-bench/servers"] = "cmd/common cmd/common/tls cmd/common/tool cmd/perennial-bench/command cmd/perennial-bench/results engine/types"
  own["cmd/perennial-bench/load"] = "cmd/common cmd/common/tls cmd/common/tool cmd/perennial-bench/results cmd/perennial-bench/servers engine/types"
  own["cmd/perennial-bench/workloads"] = "cmd/perennial-bench/command cmd/perennial-bench/load cmd/perennial-bench/results cmd/perennial-bench/servers engine/types"
  own["cmd/perennial-bench/report"] = "cmd/common cmd/common/tool cmd/perennial-bench/command cmd/perennial-bench/results engine/types"
  own["cmd/perennial-bench"] = "cmd/common/tool cmd/perennial-bench/command cmd/perennial-bench/report cmd/perennial-bench/results cmd/perennial-bench/servers cmd/perennial-bench/workloads engine/types"
  own["cmd/perennial/output"] = "cmd/common cmd/common/tool store/disk engine/types"
  own["cmd/perennial/arguments"] = "cmd/common cmd/common/tool cmd/perennial/output wire engine/types"
  own["cmd/perennial/jobs"] = "cmd/common cmd/common/tool cmd/perennial/arguments cmd/perennial/output cmd/perennial/stats engine/types"
  own["cmd/perennial/tubes"] = "cmd/common/tool cmd/perennial/arguments cmd/perennial/output engine/types"
  own["cmd/perennial/stats"] = "cmd/common cmd/common/tool cmd/perennial/arguments cmd/perennial/output engine/types"
  own["cmd/perennial/export"] = "cmd/common/tool cmd/perennial/arguments cmd/perennial/output engine/types"
  own["cmd/perennial/monitor"] = "cmd/common cmd/common/tls cmd/common/tool cmd/perennial/arguments cmd/perennial/output engine/types"
  own["cmd/perennial/checkpoints"] = "cmd/common cmd/common/tool cmd/perennial/arguments cmd/perennial/output store/checkpoint store/disk store/format store/offline wire engine/types"
  own["cmd/perennial/dump"] = "cmd/common/tool cmd/perennial/arguments cmd/perennial/checkpoints cmd/perennial/offline cmd/perennial/output store store/disk store/format store/offline wire engine/types"
  own["cmd/perennial/schedules"] = "cmd/common cmd/common/calendar cmd/common/tool cmd/perennial/arguments cmd/perennial/output wire engine/types"
  own["cmd/perennial/schedules/file"] = "cmd/common/tool cmd/common/yaml cmd/perennial/arguments cmd/perennial/output cmd/perennial/schedules engine/types"
  own["cmd/perennial/users"] = "cmd/common cmd/common/tool engine/types"
  own["cmd/perennial/cluster"] = "cmd/common cmd/common/peer cmd/common/tool cmd/perennial/output cmd/perenniald/config store store/batch store/cluster store/etcd store/format store/offline store/types engine/types"
  own["cmd/perennial/offline"] = "cmd/common cmd/common/tool cmd/perennial/arguments cmd/perennial/checkpoints cmd/perennial/monitor cmd/perennial/output migrations store store/checkpoint store/offline store/salvage wire engine/types"
  own["cmd/perennial/work/standard_error"] = "cmd/common engine/types"
  own["cmd/perennial/work"] = "cmd/common cmd/common/tool cmd/perennial/arguments cmd/perennial/output cmd/perennial/work/standard_error wire engine/types"
  own["cmd/perennial"] = "cmd/common cmd/common/tool cmd/perennial-bench/command cmd/perennial/checkpoints cmd/perennial/cluster cmd/perennial/dump cmd/perennial/export cmd/perennial/jobs cmd/perennial/monitor cmd/perennial/offline cmd/perennial/schedules cmd/perennial/stats cmd/perennial/tubes cmd/perennial/users cmd/perennial/work engine/types"
  own["tests"] = "*"
  # Only what feeds the engine includes it. Everybody else reads its view.
  only["engine"] = "cmd/perenniald/core/core.h"
  # Theirs.
  lib["engine/types"] = ""
  lib["engine"] = "absl"
  lib["wire"] = "fmt utf8.h absl"
  lib["store"] = "rocksdb lz4.h xxhash.h fmt absl nlohmann"
  lib["store/etcd"] = "fmt grpc grpcpp"
  lib["migrations"] = "rocksdb xxhash.h fmt"
  lib["cmd/common"] = "fmt absl openssl"
  lib["cmd/common/calendar"] = "fmt absl xxhash.h"
  lib["cmd/common/yaml"] = "yaml-cpp"
  lib["cmd/common/tls"] = "fmt openssl"
  lib["cmd/common/peer"] = "fmt curl"
  lib["cmd/common/tool"] = "fmt CLI nlohmann yaml-cpp"
  lib["cmd/perenniald/access"] = "fmt absl"
  lib["cmd/perenniald/core"] = "fmt absl"
  lib["cmd/perenniald/tls"] = "fmt openssl"
  lib["cmd/perenniald/process"] = "fmt nlohmann spdlog systemd"
  lib["cmd/perenniald/config"] = "fmt yaml-cpp CLI"
  lib["cmd/perenniald/loop"] = "uv.h"
  lib["cmd/perenniald/net/streams"] = "fmt"
  lib["cmd/perenniald/net/threads"] = "fmt absl"
  lib["cmd/perenniald/net"] = "fmt absl uv.h systemd"
  lib["cmd/perenniald/http"] = "fmt boost nlohmann utf8.h absl"
  lib["cmd/perenniald/checkpoints"] = "fmt absl uv.h"
  lib["cmd/perenniald/etcd"] = "fmt"
  lib["cmd/perenniald/snapshot"] = "fmt nlohmann archive.h archive_entry.h curl"
  lib["cmd/perenniald/cluster"] = "fmt"
  lib["cmd/perenniald/standby"] = "uv.h"
  lib["cmd/perenniald/server"] = "fmt absl nlohmann uv.h"
  lib["cmd/perenniald"] = "fmt"
  lib["cmd/perennial-bench"] = "fmt yaml-cpp nlohmann"
  lib["cmd/perennial"] = "fmt absl nlohmann utf8.h"
  lib["cmd/perennial/schedules/file"] = "absl fmt nlohmann yaml-cpp"
  lib["cmd/perennial/cluster"] = "fmt nlohmann curl"
  lib["tests"] = "*"
  # Slow to compile, or wanted in one place only: one file per program.
  set(once, "boost CLI yaml-cpp spdlog systemd")
  set(known, "absl archive.h archive_entry.h boost curl fmt grpc grpcpp rocksdb xxhash.h uv.h openssl yaml-cpp CLI nlohmann utf8.h spdlog systemd gtest gmock benchmark")
}

function set(into, list, words, i, count) {
  count = split(list, words, " ")
  for (i = 1; i <= count; i++) into[words[i]] = 1
}

# The folder of the table that holds the path: the longest.
function layer(table, path, name, best) {
  best = ""
  for (name in table) {
    if (index(path, name "/") == 1 && length(name) > length(best)) best = name
  }
  return best
}

function allowed(list, name, words, i, count) {
  if (list == "*") return 1
  count = split(list, words, " ")
  for (i = 1; i <= count; i++) if (words[i] == name) return 1
  return 0
}

# Some libraries are written in quotes.
/^[ \t]*#[ \t]*include[ \t]+["<]/ {
  split($0, part, /[<>"]/)
  from = layer(own, FILENAME)
  to = layer(own, part[2])
  split(part[2], name, "/")
  if (from == "") print FILENAME ":" FNR ": in no folder that may hold code"
  else if (name[1] in known) check_library(from, name[1], part[2])
  else if ($0 !~ /"/) next  # The language's or the system's.
  else if (to == "") print FILENAME ":" FNR ": \"" part[2] "\" is not written from the root"
  else if (from != to && !allowed(own[from], to))
    print FILENAME ":" FNR ": " from " may not include " part[2]
  else if (from != to && from != "tests" && to in only && FILENAME != only[to])
    print FILENAME ":" FNR ": only " only[to] " may include " part[2]
}

function check_library(from, library, header, key) {
  if (!allowed(lib[layer(lib, FILENAME)], library))
    print FILENAME ":" FNR ": " from " may not include <" header ">"
  if (!(library in once) || from == "tests") return
  key = layer(lib, FILENAME) " " library
  if (key in first && first[key] != FILENAME)
    print FILENAME ":" FNR ": " library " is included by " first[key] " already"
  first[key] = FILENAME
}
