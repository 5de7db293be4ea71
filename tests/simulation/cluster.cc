#include "tests/simulation/cluster.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "store/batch/batch_codec.h"
#include "store/cluster/entry.h"
#include "tests/simulation/history.h"

namespace perennial::simulation {
namespace {

constexpr Nanos second = nanos_per_second;
constexpr Nanos apply_time = nanos_per_ms;
constexpr Nanos flush_interval = 100 * nanos_per_ms;
constexpr int64_t lease_s = 5;

store::cluster::NodeOptions options(const std::string& name, const std::string& directory) {
  store::cluster::NodeOptions made;
  made.cluster = "jobs";
  made.node = name;
  made.directory = directory;
  made.format = store::cluster::chained_entry_format;
  made.lease_s = lease_s;
  made.new_cluster_id = "id-of-" + name;
  return made;
}

support::EtcdFaults faults_with(bool leases_hold) {
  support::EtcdFaults faults = support::EtcdFaults::all();
  if (leases_hold) {
    faults.short_leases_per_mille = 0;
    faults.lease_ended_every = 0;
  }
  return faults;
}

}  // namespace

Replica::Replica(Cluster& cluster, const std::string& name, Directory& directory)
    : cluster_(cluster),
      directory_(directory),
      process_(cluster.time().add_node()),
      client_(cluster.etcd().connect(process_)) {
  const store::cluster::LocalPosition holding = {.cluster_id = directory.cluster_id,
                                                 .index = directory.rows.last_index(),
                                                 .now = directory.rows.last_now()};
  node_ = std::make_unique<store::cluster::Node>(
      process_, *client_, options(name, directory.identity), holding, events());
  process_.post([this] { node_->start(); });
  flush_later();
}

store::cluster::Node::Events Replica::events() {
  store::cluster::Node::Events events;
  events.adopt = [this](const std::string& id) {
    directory_.cluster_id = id;
    return Status();
  };
  events.entry = [this](BatchIndex index, std::string bytes) {
    process_.after(apply_time, [this, index, kept = std::move(bytes)] { apply(index, kept); });
  };
  events.elected = [this](uint64_t epoch, BatchIndex last) {
    if (last != directory_.rows.last_index()) {
      fault_ = fmt::format("elected at {} with {}", last, directory_.rows.last_index());
    }
    epoch_ = epoch;
    cluster_.on_elected(epoch);
  };
  events.committed = [this](BatchIndex index) {
    if (!sent_ || sent_->index() != index) fault_ = fmt::format("{} is committed", index);
    if (sent_) write(std::move(*std::exchange(sent_, std::nullopt)));
  };
  events.leader = [](const auto&) {};
  events.puts = [](store::cluster::Puts) {};
  events.hand_over = [](const std::string&, store::cluster::HandoverCause) {};
  events.behind = [this] { fault_ = "a node is behind the trim"; };
  events.lost = [this](const std::string&) { is_over_ = true; };
  events.refused = [this](const Status& status) { fault_ = status.message(); };
  events.failed = [](const store::etcd::Failure&) {};
  events.outrun = [](const store::cluster::Election::Claim&) {};
  events.declined = [](const std::string&) {};
  events.replace = [] {};
  events.standbys = [](const auto&) {};
  events.repair = [](const std::string&) {};
  events.abstains = [](store::cluster::Election::Abstention) {};
  events.waits = [](std::optional<store::etcd::CallError>) {};
  events.reads_batches = [](uint8_t) {};
  events.alarms = [](const store::cluster::EtcdAlarms&) {};
  events.settings_differ = [](const std::vector<std::string>&) {};
  events.clock = [](const store::cluster::WallClock&) {};
  return events;
}

// What it has written stays, and nothing of the process runs any more.
void Replica::end() {
  is_over_ = true;
  process_.kill();
  client_.reset();
  node_.reset();
}

void Replica::retire() {
  is_retired_ = true;
  pause();
}

void Replica::kill() {
  end();
  directory_.rows.kill();
}

void Replica::cut_power() {
  end();
  directory_.rows.cut_power();
}

void Replica::apply(BatchIndex index, const std::string& bytes) {
  Result<store::Batch> batch = store::decode_batch(bytes);
  if (!batch.ok()) {
    fault_ = batch.status().message();
    return;
  }
  if (index != directory_.rows.last_index() + 1 || batch->index() != index) {
    fault_ = fmt::format("entry {} holds batch {} and comes after {}", index, batch->index(),
                         directory_.rows.last_index());
    return;
  }
  if (cluster_.bug() == ClusterBug::SkipsRows && index % 7 == 0) {
    store::Batch empty;
    empty.seal({.epoch = batch->epoch(), .index = index, .known_durable = 0, .now = batch->now()});
    return write(std::move(empty));
  }
  write(batch.take());
}

void Replica::write(store::Batch&& batch) {
  directory_.rows.submit(std::move(batch));
  Done done = directory_.rows.finish();
  if (epoch_ != 0) std::ranges::move(done.batches, std::back_inserter(written_));
  node_->set_progress(directory_.rows.last_index(), directory_.rows.synced_index());
}

void Replica::flush_later() {
  process_.after(flush_interval, [this] {
    directory_.rows.look();
    node_->set_progress(directory_.rows.last_index(), directory_.rows.synced_index());
    flush_later();
  });
}

Result<Disk::Found> Replica::open() {
  Result<Found> found = directory_.rows.open();
  if (!found.ok()) return found;
  found->opening.epoch = epoch_;
  const auto& jobs = found->image.jobs;
  if (cluster_.bug() == ClusterBug::ReusesIds && !jobs.empty()) {
    found->opening.next_id = jobs.rbegin()->first + 1;
  }
  return found;
}

void Replica::submit(store::Batch&& batch) {
  // Only where a batch is answered before its commit is one still on its way.
  cluster_.time().run_until([this] { return !sent_ || has_ended(); }, 60 * second);
  sent_ = std::move(batch);
  std::string bytes;
  store::encode_batch(*sent_, bytes);
  if (cluster_.bug() == ClusterBug::AnswersBeforeCommit) {
    // Core frees the bodies of a batch that it takes for committed, while this one is on its way.
    sent_bytes_ = bytes;
    sent_ = store::decode_batch(sent_bytes_).take();
  }
  process_.post([this, index = sent_->index(), entry = std::move(bytes)]() mutable {
    if (!has_ended()) node_->append(index, std::move(entry));
  });
  cluster_.act();
}

Disk::Done Replica::finish() {
  if (cluster_.bug() == ClusterBug::AnswersBeforeCommit && sent_) {
    return {.reply_index = sent_->index(), .durable = sent_->index()};
  }
  cluster_.time().run_until([this] { return !sent_ || has_ended(); }, 60 * second);
  Done done;
  if (sent_ || has_ended()) {
    done.failure = Status(StatusCode::Io, "the lead is lost");
    return done;
  }
  done.reply_index = done.durable = directory_.rows.last_index();
  done.batches = std::exchange(written_, {});
  return done;
}

Disk::Done Replica::look() {
  cluster_.pass(50 * nanos_per_ms);
  cluster_.act();
  if (sent_ || has_ended()) return {};
  return {.reply_index = directory_.rows.last_index(), .durable = directory_.rows.last_index()};
}

// As a server does before anything leaves it.
bool Replica::may_answer() {
  if (cluster_.bug() == ClusterBug::LeaseNotLookedAt) return true;
  return leads() && process_.now() < node_->held_until();
}

Status Replica::close(JobId /*next_id*/) {
  bool has_left = false;
  process_.post([&] {
    if (has_ended()) return void(has_left = true);
    node_->leave([&has_left] { has_left = true; });
  });
  cluster_.time().run_until([&] { return has_left || has_ended(); }, 60 * second);
  end();
  return {};
}

Cluster::Cluster(uint64_t seed, ClusterBug bug)
    : random_(seed),
      leases_hold_(random_() % 2 == 0),
      time_(seed),
      etcd_(time_, {.seed = seed, .faults = faults_with(leases_hold_)}),
      bug_(bug) {
  for (size_t i = 0; i < node_count; ++i) {
    directories_[i] = std::make_unique<Replica::Directory>(
        Replica::Directory{.identity = fmt::format("directory-{}", i),
                           .rows = ModelDisk(store::Durability::Interval, random_())});
    start(i);
  }
}

void Cluster::start(size_t i) {
  if (replicas_[i]) replicas_[i]->kill();
  replicas_[i] = std::make_shared<Replica>(*this, fmt::format("node-{}", i), *directories_[i]);
}

// As a supervisor does.
void Cluster::start_ended() {
  for (size_t i = 0; i < node_count; ++i) {
    if (replicas_[i]->has_ended()) start(i);
  }
}

std::shared_ptr<Replica> Cluster::wait_for_leader() {
  for (int tries = 0; tries < 600; ++tries) {
    start_ended();
    if (!fault().empty()) return nullptr;
    for (const auto& replica : replicas_) {
      if (replica->leads(newest_epoch_) && !replica->is_paused() && !replica->is_retired()) {
        return replica;
      }
    }
    time_.run_for(second);
    for (const auto& replica : replicas_) {
      if (!replica->is_retired() && random_() % 20 == 0) replica->resume();
    }
  }
  return nullptr;
}

void Cluster::act() {
  const size_t i = random_() % node_count;
  Replica& replica = *replicas_[i];
  // What leads is ended by whoever drives its server.
  if (replica.leads() || random_() % 8 != 0) return;
  switch (random_() % 5) {
    case 0:
      replica.kill();
      return start(i);
    case 1:
      replica.cut_power();
      return start(i);
    case 2:
      return replica.pause();
    default:
      if (replica.is_paused()) replica.resume();
  }
}

std::string Cluster::catch_up() {
  etcd_.heal();
  for (size_t i = 0; i < node_count; ++i) {
    replicas_[i]->is_retired() ? start(i) : replicas_[i]->resume();
  }
  const auto has_caught_up = [this] {
    if (std::ranges::none_of(replicas_, [](const auto& each) { return each->leads(); }))
      return false;
    return std::ranges::all_of(directories_, [this](const auto& directory) {
      return directory->rows.last_index() == directories_[0]->rows.last_index();
    });
  };
  for (int tries = 0; tries < 120; ++tries) {
    start_ended();
    time_.run_for(second);
    if (!fault().empty()) return fault();
    if (tries > 20 && has_caught_up()) break;
  }
  if (!has_caught_up()) return "the nodes are not at the same entry in the end";
  std::array<std::string, node_count> images;
  for (size_t i = 0; i < node_count; ++i) {
    const Result<Disk::Found> found = directories_[i]->rows.open();
    if (!found.ok()) return found.status().message();
    images[i] = text_of(found->image);
    if (images[i] != images[0]) {
      return fmt::format("node {} and node 0 differ:\n{}----\n{}", i, images[i], images[0]);
    }
  }
  return {};
}

std::string Cluster::fault() const {
  for (const auto& replica : replicas_) {
    if (!replica->fault().empty()) return replica->fault();
  }
  return {};
}

}  // namespace perennial::simulation
