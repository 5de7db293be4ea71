#include "cmd/perenniald/cluster/member.h"

#include <fstream>
#include <future>
#include <iterator>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "cmd/common/exit_codes.h"
#include "cmd/perenniald/process/failure.h"
#include "cmd/perenniald/process/log.h"
#include "store/etcd/grpc_client.h"
#include "store/etcd/grpc_executor.h"
#include "store/format/format.h"

namespace perennial::perenniald {
namespace {

using store::cluster::LeaderRecord;
using store::cluster::Node;

// How often the same failure of etcd is logged.
constexpr Nanos failure_log_interval = 10 * nanos_per_second;

std::string text(uint64_t number) {
  return fmt::format("{}", number);
}

// The identity of a cluster, if this node is to found one: 128 bits.
std::string random_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", random());
  return id;
}

// The first line of the file.
Result<std::string> read_password(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path);
  std::string password;
  if (!std::getline(file, password) || password.empty()) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("cluster.etcd_password_file: {} has no password in its first line, "
                              "or cannot be read",
                              path));
  }
  return password;
}

}  // namespace

struct Member::Etcd {
  store::etcd::GrpcExecutor executor;
  std::unique_ptr<store::etcd::Client> client;
};

Result<std::unique_ptr<Member>> Member::create(const ClusterConfig& config,
                                               const std::string& version,
                                               std::function<void()> wake) {
  Result<std::string> password = read_password(config.etcd_password_file);
  if (!password.ok()) return password.take_status();
  std::unique_ptr<Member> member(new Member(config, version, std::move(wake)));
  Result<std::unique_ptr<store::etcd::Client>> client = store::etcd::open_grpc_client(
      member->etcd_->executor, {.endpoints = config.etcd,
                                .ca_file = config.etcd_ca,
                                .certificate_file = config.etcd_certificate,
                                .key_file = config.etcd_key,
                                .user = config.etcd_user,
                                .password = password.take()});
  if (!client.ok()) return std::move(client.take_status()).with("cluster");
  member->etcd_->client = client.take();
  return member;
}

Member::Member(const ClusterConfig& config, std::string version, std::function<void()> wake)
    : config_(config),
      version_(std::move(version)),
      wake_(std::move(wake)),
      etcd_(new Etcd, [](Etcd* etcd) { delete etcd; }) {}

Member::~Member() {
  stop_threads();
}

// The node and the log are used on the executor's thread only until it has ended.
void Member::stop_threads() {
  if (etcd_ == nullptr) return;
  etcd_->executor.stop();
  etcd_->client.reset();
  node_.reset();
  log_.reset();
}

store::cluster::NodeOptions Member::node_options(const store::Store& store) const {
  return {.cluster = config_.name,
          .node = config_.node,
          .directory = store.identity(),
          .client_address = config_.client_address,
          .peer_address = config_.peer_address,
          .version = version_,
          .format = store::batch_format_with_fields,
          .lease_s = static_cast<int64_t>(config_.lease_s),
          .trim = {.copies_min = config_.copies_min,
                   .keep_bytes = config_.log_keep_bytes,
                   .bytes_max = config_.log_bytes_max},
          .compacts_etcd = config_.etcd_compact,
          .etcd_quota_bytes = config_.etcd_quota_bytes,
          .new_cluster_id = random_id()};
}

Status Member::follow(store::Store& store) {
  start(store);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return outcome_ || cancelled_; });
  const Status outcome =
      outcome_ ? *outcome_ : Status(StatusCode::InvalidArgument, "asked to stop");
  lock.unlock();
  if (outcome.ok()) {
    log(Level::Info, "cluster.leader", {{"node", config_.node}, {"epoch", text(epoch_)}});
    return {};
  }
  // Before the store is gone.
  leave();
  stop_threads();
  return outcome;
}

void Member::start(store::Store& store) {
  store_ = &store;
  store::cluster::ClusterLog::Links links;
  links.append = [this](BatchIndex index, std::string bytes) {
    node_->append(index, std::move(bytes));
  };
  links.progress = [this](BatchIndex applied, BatchIndex flushed) {
    node_->set_progress(applied, flushed);
  };
  links.damaged = [this](Status status) { finish(std::move(status)); };
  links.wake = wake_;
  const store::Opening& opening = store.opening();
  store::cluster::Holding holding;
  holding.cluster_id = store.cluster_id();
  holding.index = opening.last_index;
  holding.now = opening.last_now;
  log(Level::Info, "cluster.join",
      {{"cluster", config_.name}, {"node", config_.node}, {"index", text(holding.index)}});
  std::promise<void> started;
  etcd_->executor.post([&] {
    node_ = std::make_unique<Node>(etcd_->executor, *etcd_->client, node_options(store), holding,
                                   node_events());
    log_ = std::make_unique<store::cluster::ClusterLog>(store, etcd_->executor, std::move(links));
    entries_ = log_.get();
    node_->start();
    started.set_value();
  });
  started.get_future().wait();
}

Node::Events Member::node_events() {
  Node::Events events;
  events.adopt = [this](const std::string& id) { return store_->join_cluster(id); };
  events.entry = [this](BatchIndex index, std::string bytes) {
    entries_->add_entry(index, std::move(bytes));
  };
  events.elected = [this](uint64_t epoch, BatchIndex) {
    {
      const std::lock_guard lock(mutex_);
      epoch_ = epoch;
      leads_ = true;
    }
    finish({});
  };
  events.committed = [this](BatchIndex index) { entries_->on_committed(index); };
  events.leader = [this](const std::optional<LeaderRecord>& leader) { on_leader(leader); };
  events.accepts_puts = [this](bool accepts_puts) {
    log(accepts_puts ? Level::Info : Level::Warning, "cluster.puts",
        {{"accepted", accepts_puts ? "true" : "false"}});
    entries_->set_accepts_puts(accepts_puts);
  };
  events.behind = [this] {
    finish({StatusCode::NotFound,
            "the log in etcd does not hold the next entry of this data directory any more; put a "
            "checkpoint of another node in its place: etc/docs/cluster.md"});
  };
  events.lost = [](std::string why) {
    end_process({common::exit_not_leader, "cluster.lost", std::move(why)});
  };
  events.refused = [this](Status status) { finish(std::move(status)); };
  events.failed = [this](const store::etcd::Failure& failure) { on_failed(failure); };
  return events;
}

// The end of follow(). What ends a leader ends its process.
void Member::finish(Status status) {
  {
    const std::lock_guard lock(mutex_);
    if (!outcome_) {
      outcome_ = std::move(status);
      changed_.notify_all();
      return;
    }
    if (status.ok() || !leads_) return;
  }
  end_process({common::exit_not_leader, "cluster.lost", status.message()});
}

void Member::cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  changed_.notify_all();
}

void Member::on_leader(const std::optional<LeaderRecord>& leader) {
  if (leader) {
    log(Level::Info, "cluster.standby",
        {{"leader", leader->node}, {"epoch", text(leader->epoch)}, {"at", leader->client_address}});
  } else {
    log(Level::Info, "cluster.no_leader", {});
  }
}

void Member::on_failed(const store::etcd::Failure& failure) {
  const Nanos now = etcd_->executor.now();
  if (failure.message == failed_before_ && now - failed_at_ < failure_log_interval) return;
  failed_before_ = failure.message;
  failed_at_ = now;
  log(Level::Warning, "cluster.etcd",
      {{"error", std::string(name_of(failure.error))}, {"message", failure.message}});
}

void Member::check_lease() const {
  if (etcd_->executor.now() < node_->held_until()) return;
  end_process({common::exit_not_leader, "cluster.lost", "the lease in etcd is over"});
}

void Member::leave() {
  std::promise<void> left;
  etcd_->executor.post([this, &left] { node_->leave([&left] { left.set_value(); }); });
  left.get_future().wait();
  etcd_->executor.stop();
}

}  // namespace perennial::perenniald
