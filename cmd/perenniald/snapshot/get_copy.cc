#include "cmd/perenniald/snapshot/get_copy.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "cmd/common/peer/peer_request.h"
#include "cmd/perenniald/etcd/etcd_connection.h"
#include "cmd/perenniald/process/log.h"
#include "cmd/perenniald/snapshot/checkpoint_fetch.h"
#include "cmd/perenniald/snapshot/copy_status.h"
#include "store/checkpoint/checkpoint.h"
#include "store/cluster/keys.h"
#include "store/cluster/records.h"
#include "store/cluster/timing.h"
#include "store/disk/data_dir.h"
#include "store/disk/file_tree.h"
#include "store/disk/replacement.h"

namespace perennial::perenniald {
namespace {

using store::cluster::NodeRecord;
using store::cluster::Role;

// How long to wait after an attempt in which no node could send a copy.
constexpr std::chrono::seconds pause_between{2};
constexpr std::chrono::milliseconds cancel_poll_interval{100};
// How often the same reason why there is no copy yet is logged.
constexpr std::chrono::seconds behind_log_interval{10};

// All nodes that are in etcd.
Result<std::vector<NodeRecord>> read_nodes(const ClusterConfig& config) {
  store::etcd::GrpcExecutor executor;
  Result<std::unique_ptr<store::etcd::GrpcClient>> client = open_etcd(config, executor);
  if (!client.ok()) return client.take_status();
  const store::cluster::Keys keys(config.name);
  using Answer = store::etcd::Outcome<store::etcd::Found>;
  std::promise<Answer> promise;
  executor.post([&] {
    (*client)->get({.range = store::etcd::keys_with_prefix(keys.nodes())},
                   executor.now() + store::cluster::call_timeout,
                   [&promise](Answer answer) { promise.set_value(std::move(answer)); });
  });
  const Answer answer = promise.get_future().get();
  executor.stop();
  client->reset();
  if (const auto* const failure = std::get_if<store::etcd::Failure>(&answer)) {
    return Status(StatusCode::Io, failure->message);
  }
  std::vector<NodeRecord> nodes;
  for (const store::etcd::KeyValue& key : std::get<store::etcd::Found>(answer).keys) {
    std::optional<NodeRecord> node = store::cluster::decode_node(key.value);
    if (node) nodes.push_back(*std::move(node));
  }
  return nodes;
}

// Those that have a copy: whole ones first, of these standbys, and of these the one that has
// applied most.
void choose(std::vector<NodeRecord>& nodes, const std::string& own_name) {
  std::erase_if(nodes, [&](const NodeRecord& node) {
    return node.node == own_name || node.peer_address.empty() || node.role == Role::Joining;
  });
  std::ranges::sort(nodes, [](const NodeRecord& a, const NodeRecord& b) {
    // A damaged node is asked last, but it is asked: the jobs that it has lost may be missing on
    // all nodes, and damage that can be found is found when the copy is verified.
    if (a.is_damaged != b.is_damaged) return b.is_damaged;
    if (a.role != b.role) return a.role == Role::Standby;
    return a.applied > b.applied;
  });
}

std::string decimal(uint64_t number) {
  return fmt::format("{}", number);
}

Nanos wall_clock() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The time that the parts of a copy take.
class Stopwatch {
 public:
  // Since the last call.
  Nanos lap() {
    const auto now = std::chrono::steady_clock::now();
    return (now - std::exchange(lap_begun_, now)).count();
  }
  Nanos total() const { return (std::chrono::steady_clock::now() - begun_).count(); }

 private:
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point lap_begun_ = begun_;
};

class Copying {
 public:
  Copying(const ClusterConfig& config, const std::string& version, std::string data_dir,
          OldDatabase old, const std::function<bool()>& cancelled)
      : config_(config),
        status_(config, version),
        data_dir_(std::move(data_dir)),
        incoming_(data_dir_ + "/" + std::string(store::incoming_name)),
        old_(old),
        cancelled_(cancelled) {}

  Status run() {
    // It holds the lock until the copy is in its place.
    const Result<store::DataDir> dir = store::DataDir::open(data_dir_);
    if (!dir.ok()) return dir.status();
    while (!cancelled_()) {
      if (attempt()) return {};
      ignore(tree_.remove(incoming_), "the next attempt removes it again");
      status_.set({}, 0, 0);
      wait();
    }
    return {StatusCode::InvalidArgument, "asked to stop"};
  }

 private:
  bool attempt() {
    Result<std::vector<NodeRecord>> nodes = read_nodes(config_);
    if (!nodes.ok()) {
      say("etcd", nodes.status().message());
      return false;
    }
    choose(*nodes, config_.node);
    if (nodes->empty()) say("none", "no other node with a peer_address is in etcd");
    for (const NodeRecord& node : *nodes) {
      if (cancelled_()) return false;
      const Status copied = copy_from(node);
      if (copied.ok()) return true;
      say(node.node, copied.message());
    }
    return false;
  }

  Status copy_from(const NodeRecord& node) {
    const common::PeerAccess access = peer_access(config_);
    if (Status removed = store::finish_replacement(data_dir_); !removed.ok()) return removed;
    if (Status made = tree_.make_dir(incoming_); !made.ok()) return made;
    const std::string checkpoint = incoming_ + "/checkpoint";
    status_.set(node.node, 0, 0);
    Stopwatch watch;
    Result<FetchedCheckpoint> fetched =
        fetch_checkpoint({.url = common::peer_url(access, node.peer_address, "/cluster/checkpoint"),
                          .access = access,
                          .to = checkpoint,
                          .cancelled = cancelled_,
                          .progress = [&](uint64_t received, uint64_t bytes) {
                            status_.set(node.node, bytes, received);
                          }});
    if (!fetched.ok()) return fetched.take_status();
    const Nanos received = watch.lap();
    // The sender has read no row. The disk still writes meanwhile.
    const Result<store::CheckpointManifest> verified =
        store::verify_rows(checkpoint, fetched->manifest, cancelled_);
    if (!verified.ok()) return verified.status();
    const Nanos read = watch.lap();
    if (Status synced = sync(checkpoint, fetched->files); !synced.ok()) return synced;
    const Nanos written = watch.lap();
    if (old_ == OldDatabase::Kept) {
      const std::string aside = checkpoint + "/" + std::string(store::aside_prefix) +
                                store::checkpoint_name(wall_clock());
      if (Status made = tree_.make_dir(aside); !made.ok()) return made;
    }
    // The files belong to nobody else, so they need not be copied again.
    if (Status done = store::replace_database(data_dir_, checkpoint); !done.ok()) return done;
    log(Level::Info, "cluster.copied",
        {{"from", node.node},
         {"index", decimal(verified->commit.index)},
         {"jobs", decimal(verified->job_count())},
         {"bytes", decimal(verified->bytes())},
         {"received_ms", decimal(received / nanos_per_ms)},
         {"verified_ms", decimal(read / nanos_per_ms)},
         {"synced_ms", decimal(written / nanos_per_ms)},
         {"took_ms", decimal(watch.total() / nanos_per_ms)}});
    return {};
  }

  Status sync(const std::string& checkpoint, CopiedFiles& files) const {
    Status done = files.sync(cancelled_);
    if (done.ok()) done = tree_.sync_dir(checkpoint + "/db");
    if (done.ok()) done = tree_.sync_dir(checkpoint);
    return done;
  }

  // The same message comes at most every ten seconds.
  void say(const std::string& from, const std::string& message) {
    const auto now = std::chrono::steady_clock::now();
    const std::string said = from + message;
    if (said == said_ && now - said_at_ < behind_log_interval) return;
    said_ = said;
    said_at_ = now;
    log(Level::Warning, "cluster.behind", {{"from", from}, {"error", message}});
  }

  void wait() const {
    const auto end = std::chrono::steady_clock::now() + pause_between;
    while (!cancelled_() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(cancel_poll_interval);
    }
  }

  const ClusterConfig& config_;
  CopyStatus status_;
  const std::string data_dir_;
  const std::string incoming_;
  const OldDatabase old_;
  const std::function<bool()>& cancelled_;
  const store::FileTree tree_{nullptr};
  std::string said_;
  std::chrono::steady_clock::time_point said_at_;
};

}  // namespace

Status get_copy(const ClusterConfig& config, const std::string& version,
                const std::string& data_dir, OldDatabase old,
                const std::function<bool()>& cancelled) {
  return Copying(config, version, data_dir, old, cancelled).run();
}

}  // namespace perennial::perenniald
