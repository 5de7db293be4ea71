#include "cmd/perenniald/cluster/node_runner.h"

#include <algorithm>
#include <fstream>
#include <future>
#include <random>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include "cmd/common/digest.h"
#include "cmd/common/exit_codes.h"
#include "cmd/perenniald/etcd/etcd_connection.h"
#include "cmd/perenniald/etcd/etcd_discovery.h"
#include "cmd/perenniald/process/log.h"
#include "cmd/perenniald/snapshot/get_copy.h"
#include "engine/types/later.h"
#include "store/cluster/entry.h"
#include "store/cluster/keys.h"
#include "store/cluster/timing.h"
#include "store/disk/wanted_copy.h"
#include "store/etcd/grpc_executor.h"

namespace perennial::perenniald {
namespace {

using store::cluster::LeaderRecord;
using store::cluster::Node;

// How often the same failure of etcd is logged.
constexpr Nanos failure_log_interval = 10 * nanos_per_second;

std::string text(uint64_t number) {
  return fmt::format("{}", number);
}

// Where this directory is: the kernel's boot, which is random and which containers of one machine
// share, and the directory's inode, which a copy of it has not. Empty: it cannot be known.
std::string boot_of(const std::string& data_dir) {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  struct stat found {};
  if (id.empty() || ::stat(data_dir.c_str(), &found) != 0) return {};
  return fmt::format("{}/{}:{}", id, found.st_dev, found.st_ino);
}

std::string text_of_seconds(Nanos time) {
  return fmt::format("{}", time / nanos_per_second);
}

// The identity of a cluster, if this node is to found one: 128 bits.
std::string random_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", random());
  return id;
}

}  // namespace

struct NodeRunner::Etcd {
  store::etcd::GrpcExecutor executor;
  std::unique_ptr<store::etcd::GrpcClient> client;
};

Result<std::unique_ptr<NodeRunner>> NodeRunner::create(const ClusterConfig& config,
                                                       const std::string& version,
                                                       std::function<void()> wake) {
  std::unique_ptr<NodeRunner> runner(new NodeRunner(config, version, std::move(wake)));
  if (Status found = runner->discover(); !found.ok()) return found;
  if (Status connected = runner->connect(); !connected.ok()) return connected;
  return runner;
}

NodeRunner::NodeRunner(const ClusterConfig& config, std::string version, std::function<void()> wake)
    : config_(config),
      version_(std::move(version)),
      wake_(std::move(wake)),
      etcd_(nullptr, [](Etcd* etcd) { delete etcd; }),
      discovery_(nullptr, [](EtcdDiscovery* discovery) { delete discovery; }),
      etcd_settings_(config) {}

NodeRunner::~NodeRunner() {
  discovery_.reset();
  stop_threads();
}

Status NodeRunner::connect() {
  std::unique_ptr<Etcd, void (*)(Etcd*)> etcd(new Etcd, etcd_.get_deleter());
  Result<std::unique_ptr<store::etcd::GrpcClient>> client = open_etcd(settings(), etcd->executor);
  if (!client.ok()) return client.take_status();
  etcd->client = client.take();
  const std::lock_guard lock(mutex_);
  etcd_ = std::move(etcd);
  return {};
}

// Once before the start, and again and again from then on.
Status NodeRunner::discover() {
  if (config_.etcd_discovery.empty()) return {};
  Result<std::vector<std::string>> found = discover_etcd(config_);
  if (!found.ok()) return {StatusCode::NotFound, found.status().message()};
  etcd_settings_.etcd = found.take();
  discovery_.reset(new EtcdDiscovery(
      config_, etcd_settings_.etcd,
      [this](std::vector<std::string> endpoints) { use_endpoints(std::move(endpoints)); }));
  return {};
}

void NodeRunner::use_endpoints(std::vector<std::string> endpoints) {
  const std::lock_guard lock(mutex_);
  etcd_settings_.etcd = std::move(endpoints);
  reconfigure_client();
}

ClusterConfig NodeRunner::settings() const {
  const std::lock_guard lock(mutex_);
  ClusterConfig settings = config_;
  set_etcd_settings(settings, etcd_settings_);
  return settings;
}

Status NodeRunner::reconfigure(const ClusterConfig& config) {
  {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> discovered = std::move(etcd_settings_.etcd);
    etcd_settings_ = config;
    if (discovery_ != nullptr) etcd_settings_.etcd = std::move(discovered);
    reconfigure_client();
  }
  if (discovery_ != nullptr) discovery_->look_now();
  return check_etcd_files(config);
}

// REQUIRES: mutex_ is held.
void NodeRunner::reconfigure_client() {
  if (etcd_ == nullptr) return;  // Another thread connects.
  // Without a client the next one is made with the settings of then.
  etcd_->executor.post([this] {
    if (etcd_->client != nullptr) etcd_->client->reconfigure(etcd_options(settings()));
  });
}

// The node and the log are used on the executor's thread only until it has ended.
void NodeRunner::stop_threads() {
  if (etcd_ == nullptr) return;
  etcd_->executor.stop();
  etcd_->client.reset();
  entries_ = nullptr;
  node_.reset();
  log_.reset();
}

store::cluster::NodeOptions NodeRunner::node_options(const store::Store& store) const {
  return {.cluster = config_.name,
          .node = config_.node,
          .directory = store.identity(),
          .boot = boot_of(store.options().data_dir),
          .client_address = config_.client_address,
          .peer_address = config_.peer_address,
          .reads_forward_header = true,
          .version = version_,
          .format = store::cluster::newest_format,
          .priority = static_cast<uint32_t>(config_.priority),
          .lease_s = static_cast<int64_t>(config_.lease_s),
          .trim = {.copies_min = config_.copies_min,
                   .keep_bytes = config_.log_keep_bytes,
                   .bytes_max = config_.log_bytes_max},
          .compacts_etcd = config_.etcd_compact,
          .etcd_quota_bytes = config_.etcd_quota_bytes,
          .clock_offset_max = static_cast<Nanos>(config_.clock_offset_max_s) * nanos_per_second,
          .refuses_other_settings = config_.settings_differ == SettingsDiffer::Refuse,
          .new_cluster_id = random_id()};
}

Status NodeRunner::follow(store::Store& store) {
  {
    const std::lock_guard lock(mutex_);
    is_behind_ = false;
  }
  // An executor does not begin anew after another store was followed.
  if (etcd_->client == nullptr) {
    if (Status connected = connect(); !connected.ok()) return connected;
  }
  start(store);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return outcome_ || cancelled_; });
  Status outcome = outcome_ ? *outcome_ : Status(StatusCode::InvalidArgument, "asked to stop");
  lock.unlock();
  if (outcome.ok()) {
    log(Level::Info, "cluster.leader", {{"node", config_.node}, {"epoch", text(epoch_)}});
    return {};
  }
  // Before the store is gone.
  leave();
  stop_threads();
  lock.lock();
  outcome_.reset();
  return outcome;
}

void NodeRunner::give_up() {
  {
    const std::lock_guard lock(mutex_);
    leads_ = false;
  }
  leave();
  stop_threads();
}

Status NodeRunner::get_wanted_copy(const std::string& data_dir) {
  const Result<bool> is_wanted = store::is_copy_wanted(data_dir);
  if (!is_wanted.ok() || !*is_wanted) return {};  // What cannot be read has its error when opened.
  log(Level::Warning, "cluster.copy_wanted", {{"file", std::string(store::wanted_copy_name)}});
  Status copied = fetch_copy(data_dir, OldDatabase::Removed);
  if (copied.ok()) copied = store::end_wanted_copy(data_dir);
  return copied;
}

std::optional<Failure> NodeRunner::want_copy(const std::string& data_dir, const Status& loaded) {
  if (loaded.code() != StatusCode::Corruption) return std::nullopt;
  if (!store::want_copy(data_dir, loaded.message()).ok()) return std::nullopt;
  return Failure{
      common::exit_not_leader, "cluster.damaged",
      fmt::format("{}; another node leads, and the next start of this one gets a copy of "
                  "its database",
                  loaded.message())};
}

Status NodeRunner::get_copy(const std::string& data_dir) {
  log(Level::Warning, "cluster.behind",
      {{"message",
        "the log in etcd begins after what this directory holds: a copy of another node's is "
        "needed"}});
  return fetch_copy(data_dir, OldDatabase::Removed);
}

Status NodeRunner::fetch_copy(const std::string& data_dir, OldDatabase old) {
  return perenniald::get_copy(settings(), version_, data_dir, old,
                              [this] { return is_cancelled(); });
}

Status NodeRunner::replace_damaged(const std::string& data_dir, const Status& opened) {
  log(Level::Error, "cluster.damaged",
      {{"error", opened.message()},
       {"effect",
        "a copy of another node's database takes the place of this one, which is kept beside it as "
        "damaged-TIME"}});
  return fetch_copy(data_dir, OldDatabase::Kept);
}

bool NodeRunner::is_behind() const {
  const std::lock_guard lock(mutex_);
  return is_behind_ && !cancelled_;
}

bool NodeRunner::is_cancelled() const {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

void NodeRunner::checkpoint_at(BatchIndex index, std::string dir,
                               std::function<void(Result<BatchIndex>)> done) {
  const std::lock_guard lock(mutex_);
  // The log is there as long as the executor runs what is posted: stop_threads().
  etcd_->executor.post([this, index, dir = std::move(dir), done = std::move(done)]() mutable {
    if (entries_ != nullptr) entries_->checkpoint_at(index, std::move(dir), std::move(done));
  });
}

void NodeRunner::start(store::Store& store) {
  store_ = &store;
  store::cluster::ClusterLog::Links links;
  links.append = [this](BatchIndex index, std::string bytes) {
    appended_at_ = etcd_->executor.now();
    node_->append(index, std::move(bytes));
  };
  links.progress = [this](BatchIndex applied, BatchIndex flushed) {
    node_->set_progress(applied, flushed);
    on_progress(applied, flushed);
  };
  links.heard = [this](Nanos time, uint64_t epoch) { node_->heard_in_log(time, epoch); };
  links.space = [this](bool has_space) {
    node_->set_space(has_space);
    on_space(has_space);
  };
  links.disk_damaged = [this](const std::string& what) {
    node_->set_damaged();
    on_disk_damaged(what);
  };
  links.damaged = [this](Status status) { finish(std::move(status)); };
  links.wake = wake_;
  const store::Opening& opening = store.opening();
  store::cluster::LocalPosition holding;
  holding.cluster_id = store.cluster_id();
  holding.index = opening.last_index;
  holding.now = opening.last_now;
  log(Level::Info, "cluster.join",
      {{"cluster", config_.name},
       {"node", config_.node},
       {"priority", text(config_.priority)},
       {"index", text(holding.index)}});
  std::promise<void> started;
  etcd_->executor.post([&] {
    node_ = std::make_unique<Node>(etcd_->executor, *etcd_->client, node_options(store), holding,
                                   node_events());
    log_ = std::make_unique<store::cluster::ClusterLog>(store, etcd_->executor, std::move(links));
    entries_ = log_.get();
    tell_settings();
    node_->start();
    started.set_value();
  });
  started.get_future().wait();
}

Node::Events NodeRunner::node_events() {
  Node::Events events;
  events.adopt = [this](const std::string& id) { return adopt(id); };
  events.settings_differ = [this](const auto& names) { on_settings_differ(names); };
  events.entry = [this](BatchIndex index, std::string bytes) {
    on_entry(index);
    entries_->add_entry(index, std::move(bytes));
  };
  events.elected = [this](uint64_t epoch, BatchIndex) { on_elected(epoch); };
  events.committed = [this](BatchIndex index) {
    {
      const std::lock_guard lock(mutex_);
      facts_.newest = index;
      append_times_.record_time(etcd_->executor.now() - appended_at_);
    }
    entries_->on_committed(index);
  };
  events.leader = [this](const std::optional<LeaderRecord>& leader) { on_leader(leader); };
  events.puts = [this](store::cluster::Puts puts) {
    using store::cluster::Puts;
    log(puts == Puts::Accepted ? Level::Info : Level::Warning, "cluster.puts",
        {{"state", std::string(puts_name(puts))}});
    entries_->set_puts(puts);
  };
  events.reads_batches = [this](uint8_t format) { entries_->set_batch_format_max(format); };
  events.hand_over = [this](const std::string& to, store::cluster::HandoverCause cause) {
    on_hand_over(to, cause);
  };
  events.declined = [](const std::string& why) {
    log(Level::Warning, "cluster.handover", {{"state", "declined"}, {"why", why}});
  };
  events.behind = [this] {
    {
      const std::lock_guard lock(mutex_);
      is_behind_ = true;
    }
    finish({StatusCode::NotFound,
            "the log in etcd does not hold the next entry of this data directory any more"});
  };
  events.replace = [this] { on_replace(); };
  events.standbys = [this](const store::cluster::Node::Standbys& standbys) {
    const std::lock_guard lock(mutex_);
    facts_.standbys = standbys;
  };
  events.repair = [this](const std::string& id) { on_repair(id); };
  events.lost = [](std::string why) {
    end_process({common::exit_not_leader, "cluster.lost", std::move(why)});
  };
  events.refused = [this](Status status) { finish(std::move(status)); };
  events.outrun = [this](const store::cluster::Election::Claim& claim) { on_outrun(claim); };
  events.abstains = [this](store::cluster::Election::Abstention why) { on_abstains(why); };
  events.failed = [this](const store::etcd::Failure& failure) { on_failed(failure); };
  events.waits = [this](std::optional<store::etcd::CallError> waits_for) { on_waits(waits_for); };
  events.alarms = [this](const store::cluster::EtcdAlarms& alarms) { on_alarms(alarms); };
  events.clock = [this](const store::cluster::WallClock& clock) { on_clock(clock); };
  return events;
}

Status NodeRunner::adopt(const std::string& cluster_id) {
  Status joined = store_->join_cluster(cluster_id);
  if (joined.ok()) tell_settings();
  return joined;
}

void NodeRunner::set_shared_settings(std::map<std::string, std::string> settings) {
  const std::lock_guard lock(mutex_);
  shared_settings_ = std::move(settings);
  etcd_->executor.post([this] { tell_settings(); });
}

// The identity of the cluster makes the digests, so a node tells none before it has one.
void NodeRunner::tell_settings() {
  if (node_ == nullptr || store_->cluster_id().empty()) return;
  store::cluster::SettingDigests digests;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, text] : shared_settings_) {
    digests.emplace(name, common::keyed_digest(store_->cluster_id(), name + "=" + text));
  }
  node_->set_settings(std::move(digests));
}

// The end of follow(). What ends a leader ends its process.
void NodeRunner::finish(Status status) {
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

void NodeRunner::cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  changed_.notify_all();
}

void NodeRunner::on_elected(uint64_t epoch) {
  const store::cluster::TakeoverTime takeover = node_->takeover_time();
  if (takeover.is_wall_off) {
    log(Level::Warning, "cluster.clock",
        {{"ahead_s", text_of_seconds(takeover.wall_ahead)},
         {"effect", "the wall clock of this machine is not used: the cluster's time goes on"}});
  }
  {
    const std::lock_guard lock(mutex_);
    epoch_ = epoch;
    takeover_ = takeover;
    elected_at_ = etcd_->executor.now();
    leads_ = true;
    facts_.epoch = epoch;
    facts_.leader = {.node = config_.node,
                     .directory = store_->identity(),
                     .client_address = config_.client_address,
                     .peer_address = config_.peer_address,
                     .epoch = epoch};
  }
  finish({});
  wake_();
}

void NodeRunner::on_entry(BatchIndex index) {
  const std::lock_guard lock(mutex_);
  facts_.newest = index;
}

void NodeRunner::on_progress(BatchIndex applied, BatchIndex flushed) {
  const std::lock_guard lock(mutex_);
  facts_.applied = applied;
  facts_.flushed = flushed;
  facts_.newest = std::max(facts_.newest, applied);
}

NodeFacts NodeRunner::facts() const {
  const std::lock_guard lock(mutex_);
  NodeFacts out = facts_;
  out.leads = leads_ && etcd_->executor.now() < node_->held_until();
  return out;
}

LatencyHistogram NodeRunner::append_times() const {
  const std::lock_guard lock(mutex_);
  return append_times_;
}

void NodeRunner::leader_has_ended(uint64_t epoch) {
  log(Level::Info, "cluster.leader_ended", {{"epoch", text(epoch)}});
  const std::lock_guard lock(mutex_);
  etcd_->executor.post([this, epoch] {
    if (node_ != nullptr) node_->leader_has_ended(epoch);
  });
}

void NodeRunner::ask_handover() {
  const std::lock_guard lock(mutex_);
  etcd_->executor.post([this] {
    if (node_ != nullptr) node_->ask_handover();
  });
}

void NodeRunner::on_leader_reached(std::optional<bool> reached) {
  const std::optional<LeaderRecord> leader = facts().leader;
  if (reached == false && leader) {
    log(Level::Warning, "cluster.unreachable",
        {{"leader", leader->node},
         {"peer_address", leader->peer_address},
         {"means", "this node would notice the end of that one by its lease only"}});
  }
  const std::lock_guard lock(mutex_);
  etcd_->executor.post([this, reached] {
    if (node_ != nullptr) node_->set_reaches_leader(reached);
  });
}

void NodeRunner::on_leader(const std::optional<LeaderRecord>& leader) {
  {
    const std::lock_guard lock(mutex_);
    facts_.leader = leader;
    if (leader) facts_.epoch = leader->epoch;
    if (leader) facts_.alarms = {};  // That one looks at them.
  }
  wake_();
  if (leader) {
    log(Level::Info, "cluster.standby",
        {{"leader", leader->node}, {"epoch", text(leader->epoch)}, {"at", leader->client_address}});
  } else {
    log(Level::Info, "cluster.no_leader", {});
  }
}

Nanos NodeRunner::time() const {
  const std::lock_guard lock(mutex_);
  return later(takeover_.time, etcd_->executor.now() - elected_at_);
}

void NodeRunner::set_time(Nanos time) {
  const std::lock_guard lock(mutex_);
  // What passes until then does not count, which is a turn of a thread.
  etcd_->executor.post([this, time] {
    if (node_ != nullptr) node_->set_time(time);
  });
}

void NodeRunner::on_clock(const store::cluster::WallClock& clock) {
  bool could_lead = true;
  {
    const std::lock_guard lock(mutex_);
    could_lead = std::exchange(facts_.clock, clock).may_lead;
  }
  if (clock.may_lead == could_lead) return;
  if (clock.may_lead) return log(Level::Info, "cluster.clock", {{"may_lead", "yes"}});
  log(Level::Error, "cluster.clock",
      {{"ahead_s", text_of_seconds(clock.ahead)},
       {"may_lead", "no"},
       {"message",
        fmt::format(
            "the wall clock of this machine is ahead of that of most nodes by more than {} s "
            "(clock_offset_max_s): set it; this node follows meanwhile",
            config_.clock_offset_max_s)}});
}

bool NodeRunner::is_due(Nanos& logged_at) const {
  const Nanos now = etcd_->executor.now();
  if (logged_at != 0 && now - logged_at < failure_log_interval) return false;
  logged_at = now;
  return true;
}

void NodeRunner::on_abstains(store::cluster::Election::Abstention why) {
  if (!is_due(abstained_at_)) return;
  if (why == store::cluster::Election::Abstention::Paused) {
    return log(Level::Warning, "cluster.paused",
               {{"message",
                 "the leader is gone, and this node does not stand, because takeovers are paused: "
                 "`perennial cluster resume` ends that"}});
  }
  log(Level::Warning, "cluster.resigned",
      {{"message",
        "the leader is gone, and this node does not stand, because it was asked not to lead for a "
        "while: `perennial cluster resign NODE --end` takes that back"}});
}

void NodeRunner::on_outrun(const store::cluster::Election::Claim& claim) {
  if (!is_due(outrun_at_)) return;
  log(Level::Error, "cluster.outrun",
      {{"node", claim.node},
       {"holds", text(claim.index)},
       {"message",
        "nobody may lead: this node holds a batch that the log in etcd does not, which was "
        "restored "
        "from an older snapshot; etc/docs/cluster.md, \"Recover from the loss of etcd\""}});
}

// As after damage: the next start gets the copy.
void NodeRunner::on_repair(const std::string& id) {
  const std::string why = fmt::format("asked for by `perennial cluster repair` ({})", id);
  if (Status wanted = store::want_copy(store_->options().data_dir, why); !wanted.ok()) {
    return finish(std::move(wanted).with("repair"));
  }
  end_process({common::exit_not_leader, "cluster.repair",
               why + "; the next start of this node gets a copy of another node's database"});
}

void NodeRunner::on_space(bool has_space) {
  const std::lock_guard lock(mutex_);
  facts_.has_space = has_space;
}

void NodeRunner::on_disk_damaged(const std::string& what) {
  damage_ = what;
  log(Level::Error, "cluster.damaged",
      {{"error", what},
       {"effect", "this node gets a copy of another one's database as soon as it can"}});
}

void NodeRunner::on_replace() {
  const std::string& data_dir = store_->options().data_dir;
  if (const auto failure = want_copy(data_dir, {StatusCode::Corruption, damage_})) {
    end_process(*failure);
  }
  end_process({common::exit_io, "cluster.damaged", "the file copy-wanted cannot be written"});
}

void NodeRunner::on_lost_body(const Status& why) const {
  if (!facts().standbys.has_successor) return;
  const Status damage(StatusCode::Corruption, why.message());
  if (const auto failure = want_copy(store_->options().data_dir, damage)) end_process(*failure);
}

void NodeRunner::on_hand_over(const std::string& to, store::cluster::HandoverCause cause) {
  using store::cluster::HandoverCause;
  switch (cause) {
    case HandoverCause::Asked:
      log(Level::Info, "cluster.handover", {{"to", to.empty() ? "any" : to}});
      break;
    case HandoverCause::NoSpace:
      log(Level::Warning, "cluster.handover",
          {{"to", to},
           {"message",
            "the disk of this node is nearly full, so that puts are refused, and the disk "
            "of that one has space: make space on this one"}});
      break;
    case HandoverCause::Damaged:
      log(Level::Warning, "cluster.handover",
          {{"to", to},
           {"message", "the database of this node is damaged: its next start gets a copy"}});
      ignore(store::want_copy(store_->options().data_dir, damage_),
             "then the next start finds the damage again");
      break;
    case HandoverCause::Resigned:
      log(Level::Info, "cluster.handover",
          {{"to", "any"}, {"why", "this node was asked not to lead for a while"}});
      break;
    case HandoverCause::Repair:
      log(Level::Info, "cluster.handover",
          {{"to", "any"}, {"why", "this node shall get a copy of another node's database"}});
      break;
  }
  hands_over_.store(true, std::memory_order_release);
  wake_();
}

void NodeRunner::on_failed(const store::etcd::Failure& failure) {
  const Nanos now = etcd_->executor.now();
  if (failure.message == failed_before_ && now - failed_at_ < failure_log_interval) return;
  failed_before_ = failure.message;
  failed_at_ = now;
  log(Level::Warning, "cluster.etcd",
      {{"error", std::string(name_of(failure.error))}, {"message", failure.message}});
}

void NodeRunner::on_waits(std::optional<store::etcd::CallError> waits_for) {
  const std::string why = waits_for ? std::string(name_of(*waits_for)) : std::string();
  if (waits_for) {
    log(Level::Error, "cluster.append", {{"state", "failing"}, {"error", why}});
  } else {
    log(Level::Info, "cluster.append", {{"state", "ok"}});
  }
  {
    const std::lock_guard lock(mutex_);
    facts_.append_failure = why;
  }
  entries_->set_waits(waits_for.has_value());
}

void NodeRunner::on_alarms(const store::cluster::EtcdAlarms& alarms) {
  store::cluster::EtcdAlarms before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(facts_.alarms, alarms);
  }
  if (before == alarms) return;
  const bool is_over = alarms == store::cluster::EtcdAlarms();
  log(is_over ? Level::Info : Level::Error, "cluster.etcd_alarm",
      {{"no_space", text(alarms.no_space)}, {"corrupt", text(alarms.corrupt)}});
}

void NodeRunner::on_settings_differ(const std::vector<std::string>& names) {
  {
    const std::lock_guard lock(mutex_);
    facts_.settings_differ = names.size();
  }
  if (names.empty()) return log(Level::Info, "cluster.settings", {{"differ", "none"}});
  const bool refuses = config_.settings_differ == SettingsDiffer::Refuse;
  log(Level::Warning, "cluster.settings",
      {{"differ", fmt::format("{}", fmt::join(names, ","))},
       {"means", refuses
                     ? "they are others than the leader's: this node does not stand for election"
                     : "they are others than the leader's: clients will meet them when this "
                       "node leads"}});
}

void NodeRunner::check_lease() const {
  if (etcd_->executor.now() < node_->held_until()) return;
  end_process({common::exit_not_leader, "cluster.lost", "the lease in etcd is over"});
}

void NodeRunner::on_loop_stalled(Nanos stalled) const {
  const auto lease = static_cast<Nanos>(config_.lease_s) * nanos_per_second;
  if (stalled < lease || !facts().leads) return;
  end_process({common::exit_not_leader, "cluster.lost",
               fmt::format("a turn of the loop has lasted for {} s (turn_seconds_max, lease_s)",
                           stalled / nanos_per_second)});
}

void NodeRunner::leave() {
  std::promise<void> left;
  etcd_->executor.post([this, &left] { node_->leave([&left] { left.set_value(); }); });
  left.get_future().wait();
  etcd_->executor.stop();
}

}  // namespace perennial::perenniald
