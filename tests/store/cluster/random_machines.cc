#include "tests/store/cluster/random_machines.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "store/cluster/entry.h"
#include "store/cluster/keys.h"
#include "store/cluster/records.h"
#include "tests/support/etcd_client_wrapper.h"

namespace perennial::store::cluster {
namespace {

using support::EtcdFaults;
using Bug = RandomMachines::Bug;

constexpr Nanos second = nanos_per_second;
constexpr Nanos day = 86'400 * second;
constexpr int64_t lease_s = 5;
constexpr Nanos offset_max = 2 * second;
// A leader whose disk is full or damaged hands over within this time, if it can.
constexpr Nanos patience = 15 * second;

// Calls are lost, late and repeated, and etcd elects. Whatever ends a leader by itself is drawn by
// act(), which counts it.
EtcdFaults faults_of_etcd() {
  EtcdFaults faults = EtcdFaults::all();
  faults.short_leases_per_mille = 0;
  faults.lease_ended_every = 0;
  faults.cut_off_every = 0;
  faults.majority_lost_every = 0;
  faults.full_every = 0;
  // So that a node that is named hears of it in time. RandomCluster has these.
  faults.late_reports_per_mille = 0;
  faults.watches_ended_every = 0;
  return faults;
}

// A client that leaves out a part of what a node sends.
class OmittingClient final : public support::EtcdClientWrapper {
 public:
  OmittingClient(std::unique_ptr<etcd::Client> real, Bug bug)
      : EtcdClientWrapper(std::move(real)), bug_(bug) {}

  void commit(etcd::Transaction transaction, Nanos deadline,
              etcd::Done<etcd::TransactionDone> done) override {
    if (bug_ == Bug::ClaimNotCompared) {
      std::erase_if(transaction.conditions, [](const etcd::Compare& condition) {
        return condition.is == etcd::Compare::Is::NotEqual;
      });
    }
    for (etcd::Operation& operation : transaction.then) {
      auto* const put = std::get_if<etcd::Put>(&operation);
      const bool is_node = put != nullptr && put->key.find("/nodes/") != std::string::npos;
      if (bug_ == Bug::SpaceNotTold && is_node)
        replace(put->value, "\"has_space\":true", "\"has_space\":false");
      if (bug_ == Bug::EarlierTimeBelieved && is_node) {
        replace(put->value, "\"time_epoch\":", "\"time_epoch\":1,\"left_out\":");
        if (put->value.find("\"role\":\"leader\"") == std::string::npos)
          replace(put->value, "\"time_ms\":", "\"time_ms\":0,\"left_out_too\":");
      }
    }
    EtcdClientWrapper::commit(std::move(transaction), deadline, std::move(done));
  }

 private:
  static void replace(std::string& text, const std::string& from, const std::string& to) {
    if (const size_t at = text.find(from); at != std::string::npos)
      text.replace(at, from.size(), to);
  }

  const Bug bug_;
};

SimulatedNode::Plant plant_of(Bug bug) {
  using Plant = SimulatedNode::Plant;
  switch (bug) {
    case Bug::TakeoverAddsUptime:
      return Plant::TakeoverAddsUptime;
    case Bug::DamagedStandsAgain:
      return Plant::DamagedStandsAgain;
    case Bug::DamageNotTold:
      return Plant::DamageNotTold;
    case Bug::EarlierTimeBelieved:
      return Plant::EntriesTellNoTime;
    default:
      return Plant::None;
  }
}

}  // namespace

RandomMachines::RandomMachines(uint64_t seed, Bug bug, Faults faults)
    : random_(seed),
      time_(seed),
      etcd_(time_, {.seed = seed, .faults = faults_of_etcd()}),
      bug_(bug),
      faults_(faults),
      operator_(time_.add_node()),
      client_(etcd_.connect(operator_)) {
  for (size_t i = 0; i < machine_count; ++i) {
    machines_[i].disk.directory = fmt::format("directory-{}", i);
    start(i);
  }
  // The node that founds the cluster has nobody to compare its clock with.
  fault_ends_at_ = time_.now() + 5 * second;
}

void RandomMachines::start(size_t i) {
  machines_[i].node.reset();
  machines_[i].node = make(i, machines_[i].disk, fmt::format("boot-{}", i));
  machines_[i].node->process().set_wall_offset(machines_[i].wall_offset);
  if (machines_[i].is_cut) etcd_.cut_off(machines_[i].node->process());
}

std::unique_ptr<SimulatedNode> RandomMachines::make(size_t i, SimulatedDisk& disk,
                                                    const std::string& boot) {
  NodeOptions options;
  options.cluster = "jobs";
  options.node = fmt::format("node-{}", i);
  options.client_address = boot + ":11300";
  options.peer_address = boot + ":11380";
  options.boot = bug_ == Bug::CloneBelieved ? "" : boot;
  options.format = newest_format;
  options.lease_s = lease_s;
  options.clock_offset_max = bug_ == Bug::WallClockBelieved ? 1000 * day : offset_max;
  options.new_cluster_id = fmt::format("id-of-{}", i);
  const SimulatedNode::World world = {
      .time = time_,
      .etcd = etcd_,
      .acknowledged = acknowledged_,
      .write_gap = 50 * nanos_per_ms,
      .hand_out = [this](uint64_t epoch) { on_hand_out(epoch); },
      .hands_over = [this](uint64_t epoch, const std::string& to) { on_hand_over(epoch, to); },
      .appends = [this](const std::string& before,
                        const std::string& entry) { parents_[entry] = before; },
      .wrap =
          [this](std::unique_ptr<etcd::Client> real) {
            return std::make_unique<OmittingClient>(std::move(real), bug_);
          },
      .plant = plant_of(bug_)};
  auto node = std::make_unique<SimulatedNode>(world, std::move(options), disk);
  node->write_always(true);
  return node;
}

std::string RandomMachines::run(Nanos time) {
  const Nanos end = time_.now() + time;
  const Nanos restore_at = time_.now() + time / 4 + static_cast<Nanos>(random_() % (time / 4));
  bool is_restored = faults_ != Faults::Restore;
  while (time_.now() < end) {
    time_.run_for(static_cast<Nanos>(random_() % second));
    if (!is_restored && time_.now() > restore_at) {
      is_restored = true;
      restore();
    }
    if (sleeper_ && time_.now() > wakes_at_) wake();
    report_to_planted();
    restart_ended();
    if (faults_ == Faults::All && time_.now() > fault_ends_at_) act();
    if (std::string broken = check(); !broken.empty()) return broken;
  }
  return {};
}

// As a supervisor does.
void RandomMachines::restart_ended() {
  for (size_t i = 0; i < machine_count; ++i) {
    const SimulatedNode& node = *machines_[i].node;
    if (!node.has_ended()) continue;
    if (node.refused() && faults_ == Faults::Restore) {
      if (time_.now() < refused_until_) continue;
      empty(i);
    }
    if (node.is_replaced() || node.is_behind()) copy_from_another(i);
    start(i);
  }
  if (clone_ != nullptr && clone_->has_ended()) clone_.reset();
}

// As an operator does who gives up what only this node holds: from now on the log in etcd is what
// was acknowledged.
void RandomMachines::empty(size_t i) {
  count("emptied");
  machines_[i].disk = {.directory = fmt::format("directory-{}-{}", i, time_.now())};
  const Keys keys("jobs");
  const auto log =
      std::get<etcd::Found>(etcd_.model().get({.range = keys.entries_from(0), .keys_only = true}));
  const BatchIndex last = log.keys.empty() ? 0 : *keys.index_of(log.keys.back().key);
  acknowledged_.erase(acknowledged_.upper_bound(last), acknowledged_.end());
}

void RandomMachines::copy_from_another(size_t i) {
  const Machine* best = nullptr;
  for (const Machine& machine : machines_) {
    if (&machine == &machines_[i] || machine.disk.is_damaged) continue;
    if (best == nullptr || machine.disk.last() > best->disk.last()) best = &machine;
  }
  if (best == nullptr) return;
  count("copies");
  // What the sender has flushed for it.
  machines_[i].disk = {.directory = fmt::format("directory-{}-{}", i, time_.now()),
                       .cluster_id = best->disk.cluster_id,
                       .entries = best->disk.entries,
                       .flushed = best->disk.last()};
}

std::optional<size_t> RandomMachines::leader() const {
  for (size_t i = 0; i < machine_count; ++i) {
    const SimulatedNode& node = *machines_[i].node;
    if (node.leads() && !node.has_ended() && node.epoch() == epoch_) return i;
  }
  return std::nullopt;
}

// The others have a proof that the process of machine `of`, which led in this epoch, has ended.
void RandomMachines::report_end(uint64_t epoch, size_t of) {
  for (size_t i = 0; i < machine_count; ++i) {
    SimulatedNode& node = *machines_[i].node;
    if (i == of || node.has_ended()) continue;
    node.process().post([&node, epoch] {
      if (!node.has_ended()) node.node().leader_has_ended(epoch);
    });
  }
}

// What the others would take for a proof, if it were one.
void RandomMachines::report_to_planted() {
  for (size_t i = 0; i < machine_count; ++i) {
    const Machine& machine = machines_[i];
    if (!machine.node->leads() || machine.node->has_ended()) continue;
    const bool is_reset = bug_ == Bug::ResetIsProof && machine.is_cut;
    const bool is_silent = bug_ == Bug::SilenceIsProof && machine.is_unreachable;
    if (is_reset || is_silent) report_end(machine.node->epoch(), i);
  }
}

// One machine has a fault at a time, and then a while to get over it.
void RandomMachines::act() {
  end_fault();
  const size_t i = random_() % machine_count;
  Machine& machine = machines_[i];
  fault_ends_at_ = time_.now() + 12 * second + static_cast<Nanos>(random_() % (12 * second));
  switch (random_() % 13) {
    case 0:
      return kill(i, false);
    case 1:
      return kill(i, true);
    case 2:
      count("pause");
      causes_ += 1;
      return machine.node->process().pause();
    case 3:
      return cut(leader().value_or(i));
    case 4:
      count("unreachable");
      machine.is_unreachable = true;
      return;
    case 5:
    case 6:
      return ask_to_hand_over(i);
    case 7:
      count("full disk");
      causes_ += 1;
      machines_[leader().value_or(i)].disk.has_space = false;
      return;
    case 8:
      count("damage");
      causes_ += 2;  // It is elected perhaps, before the damage is known.
      machine.disk.is_damaged = true;
      machine.disk.is_noticed = random_() % 2 == 0;
      return;
    case 9:
      count("damage and end of the leader");
      causes_ += 2;
      if (leader() != i) {
        machine.disk.is_damaged = true;
        machine.disk.is_noticed = false;
      }
      return kill(leader().value_or(i), false);
    case 10:
      return clone(i);
    case 11:
      return restart_beside_still_leader(i);
    default:
      return set_clock(0);
  }
}

void RandomMachines::end_fault() {
  for (Machine& machine : machines_) {
    if (machine.node->process().is_paused()) machine.node->process().resume();
    if (std::exchange(machine.is_cut, false)) etcd_.cut_off(machine.node->process(), false);
    machine.is_unreachable = false;
    machine.disk.has_space = true;
    machine.disk.is_noticed = true;
  }
  clone_.reset();
}

void RandomMachines::kill(size_t i, bool power) {
  count(power ? "power cut" : "kill");
  causes_ += 1;
  Machine& machine = machines_[i];
  const uint64_t epoch = machine.node->epoch();
  const bool led = machine.node->leads();
  machine.node->kill();
  if (power) machine.disk.lose_power();
  // A machine without power proves nothing.
  if (led && !power && !machine.is_unreachable) report_end(epoch, i);
  start(i);
}

// What the leader has told last is old when the other one comes and hears it.
void RandomMachines::restart_beside_still_leader(size_t i) {
  count("restart beside a leader that stands still");
  causes_ += 1;
  const size_t still = leader().value_or(i);
  machines_[still].node->process().pause();
  time_.run_for(static_cast<Nanos>(random_() % (5 * second)));
  kill((still + 1 + random_() % (machine_count - 1)) % machine_count, false);
}

void RandomMachines::cut(size_t i) {
  count("cut");
  causes_ += 1;
  machines_[i].is_cut = true;
  etcd_.cut_off(machines_[i].node->process());
}

// Only this machine has a clock that is far off.
void RandomMachines::set_clock(size_t i) {
  count("clock");
  constexpr std::array<Nanos, 8> offsets = {-day,        -30 * second,  0,       5 * second,
                                            30 * second, 3600 * second, 3 * day, 10 * day};
  machines_[i].wall_offset = offsets[random_() % offsets.size()];
  machines_[i].node->process().set_wall_offset(machines_[i].wall_offset);
  if (random_() % 2 == 0) kill(leader().value_or(1), false);
}

// On another machine, with the name and the directory.
void RandomMachines::clone(size_t i) {
  count("clone");
  causes_ += 1;
  clone_disk_ = std::make_unique<SimulatedDisk>(machines_[i].disk);
  clone_ = make(i, *clone_disk_, "boot-of-a-clone");
}

// Of the epoch that was seen last, which may be over.
void RandomMachines::ask_to_hand_over(size_t to) {
  count("handover");
  causes_ += 1;
  const HandoverRecord asked = {.epoch = epoch_, .to = fmt::format("node-{}", to)};
  etcd::Transaction ask;
  ask.then.emplace_back(etcd::Put{.key = Keys("jobs").handover(), .value = encode(asked)});
  client_->commit(std::move(ask), operator_.now() + second, [](const auto&) {});
}

// One standby sleeps, or is cut off, before the snapshot is made or after that, and wakes in
// another history.
void RandomMachines::restore() {
  const size_t lead = leader().value_or(0);
  sleeper_ = (lead + 1 + random_() % (machine_count - 1)) % machine_count;
  auto& process = machines_[*sleeper_].node->process();
  const bool sleeps_first = random_() % 2 == 0;
  const auto sleep = [&] { random_() % 2 == 0 ? process.pause() : etcd_.cut_off(process); };
  if (sleeps_first) sleep();
  time_.run_for(static_cast<Nanos>(random_() % (8 * second)));
  support::EtcdModel snapshot = etcd_.model();
  time_.run_for(second / 2 + static_cast<Nanos>(random_() % (4 * second)));
  if (!sleeps_first) sleep();
  time_.run_for(static_cast<Nanos>(random_() % second));
  count("restore");
  causes_ += 3;
  etcd_.restore(std::move(snapshot));
  refused_until_ = time_.now() + 20 * second;
  wakes_at_ = time_.now() + static_cast<Nanos>(random_() % (60 * second));
}

void RandomMachines::wake() {
  auto& process = machines_[*std::exchange(sleeper_, std::nullopt)].node->process();
  if (process.is_paused()) process.resume();
  etcd_.cut_off(process, false);
}

std::string RandomMachines::check() {
  for (const Machine& machine : machines_) {
    if (!machine.node->fault().empty()) return machine.node->fault();
    if (machine.node->refused() && faults_ == Faults::All)
      return machine.node->refused()->message();
    epoch_ = std::max(epoch_, machine.node->epoch());
  }
  if (clone_ != nullptr) epoch_ = std::max(epoch_, clone_->epoch());
  if (!handed_out_by_two_.empty()) return handed_out_by_two_;
  judge_handover();
  if (misnamed_ > 2) return "another node than the one that was named led, three times";
  // Calls that are lost one after the other cost a leader its lease.
  if (epoch_ > causes_ + 3) return fmt::format("{} elections, for {} causes", epoch_, causes_);
  if (std::string broken = check_time(); !broken.empty()) return broken;
  if (std::string broken = check_histories(); !broken.empty()) return broken;
  return check_leader();
}

std::string RandomMachines::check_time() {
  for (const Machine& machine : machines_) {
    SimulatedNode& node = *machine.node;
    if (!node.leads() || node.has_ended() || node.process().is_paused()) continue;
    const Nanos ahead = node.time() - support::VirtualTime::epoch - time_.now();
    if (ahead > offset_max + second) {
      return fmt::format("the time of the cluster is {} s ahead", ahead / second);
    }
    // What was asked of the leader before it would happen too early.
    const Nanos jump = ahead - led_ahead_;
    const bool is_next = led_epoch_ != 0 && node.epoch() > led_epoch_;
    if (is_next && node.node().takeover_time().is_handed_on && jump > offset_max + second) {
      return fmt::format("the time of the cluster jumped ahead by {} s", jump / second);
    }
    led_epoch_ = node.epoch();
    led_ahead_ = ahead;
  }
  return {};
}

// C1: each entry follows the one that its leader had before it.
std::string RandomMachines::check_histories() const {
  if (faults_ != Faults::Restore) return {};
  for (const Machine& machine : machines_) {
    const std::string* before = nullptr;
    for (const auto& [index, entry] : machine.disk.entries) {
      const auto parent = parents_.find(entry);
      const bool fits = before == nullptr || parent == parents_.end() || parent->second == *before;
      if (!fits) return fmt::format("{} has two histories at {}", machine.disk.directory, index);
      before = &entry;
    }
  }
  return {};
}

void RandomMachines::on_hand_over(uint64_t epoch, const std::string& to) {
  if (!to.empty()) named_until_ = time_.now() + 200 * second;  // space_handover_interval
  for (size_t i = 0; i < machine_count; ++i) {
    const SimulatedNode& node = *machines_[i].node;
    const bool is_named = to == fmt::format("node-{}", i);
    const bool is_well =
        !node.has_ended() && node.epoch() != epoch && !machines_[i].disk.is_damaged;
    if (!is_named || !is_well) continue;
    named_ = i;
    named_after_ = epoch;
  }
  for (size_t i = 0; bug_ == Bug::PortClosesFirst && i < machine_count; ++i) {
    if (machines_[i].node->epoch() == epoch) report_end(epoch, i);
  }
}

void RandomMachines::judge_handover() {
  if (!named_ || epoch_ <= named_after_) return;
  const std::optional<size_t> lead = leader();
  if (epoch_ == named_after_ + 1 && lead && lead != named_) ++misnamed_;
  named_.reset();
}

// A leader with a full or a damaged disk, beside a standby that could lead.
std::string RandomMachines::check_leader() {
  const std::optional<size_t> lead = leader();
  bool is_bad = false;
  if (lead) {
    const SimulatedDisk& disk = machines_[*lead].disk;
    const bool is_full = !disk.has_space && time_.now() > named_until_;
    is_bad = is_full || (disk.is_damaged && disk.is_noticed);
  }
  for (size_t i = 0; is_bad && i < machine_count; ++i) {
    const Machine& machine = machines_[i];
    if (i == *lead) continue;
    // All others are well, since one machine has a fault at a time.
    is_bad = !machine.disk.is_damaged && !machine.node->has_ended() && machine.disk.has_space;
  }
  if (!is_bad) {
    bad_leader_since_ = 0;
    return {};
  }
  if (bad_leader_since_ == 0) bad_leader_since_ = time_.now();
  if (time_.now() - bad_leader_since_ < patience) return {};
  return fmt::format("node-{} leads with a {} disk", *lead,
                     machines_[*lead].disk.has_space ? "damaged" : "full");
}

// C5: while one leader hands out, no other has been elected.
void RandomMachines::on_hand_out(uint64_t epoch) {
  const auto found = std::get<etcd::Found>(
      etcd_.model().get({.range = {.key = Keys("jobs").leader(), .end = {}}}));
  if (found.keys.empty() || faults_ == Faults::Restore) return;
  const uint64_t elected = decode_leader(found.keys[0].value)->epoch;
  if (elected > epoch) {
    handed_out_by_two_ =
        fmt::format("the leader of epoch {} hands out after the election of {}", epoch, elected);
  }
}

}  // namespace perennial::store::cluster
