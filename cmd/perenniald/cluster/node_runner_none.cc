#include "cmd/perenniald/cluster/node_runner.h"

// For a program that is built without clusters (-DPERENNIAL_CLUSTER=OFF). No node is ever made.
namespace perennial::perenniald {

Result<std::unique_ptr<NodeRunner>> NodeRunner::create(const ClusterConfig& /*config*/,
                                                       const std::string& /*version*/,
                                                       std::function<void()> /*wake*/) {
  return Status(StatusCode::Unsupported, "this perenniald was built without clusters");
}

NodeRunner::~NodeRunner() = default;

Status NodeRunner::follow(store::Store& /*store*/) {
  CHECK(!"there is no node");
}

Status NodeRunner::get_copy(const std::string& /*data_dir*/) {
  CHECK(!"there is no node");
}

Status NodeRunner::replace_damaged(const std::string& /*data_dir*/, const Status& /*opened*/) {
  CHECK(!"there is no node");
}

void NodeRunner::give_up() {}
std::optional<Failure> NodeRunner::want_copy(const std::string& /*data_dir*/,
                                             const Status& /*loaded*/) {
  return std::nullopt;
}
Status NodeRunner::get_wanted_copy(const std::string& /*data_dir*/) {
  return {};
}
void NodeRunner::cancel() {}
void NodeRunner::set_shared_settings(std::map<std::string, std::string> /*settings*/) {}
Status NodeRunner::reconfigure(const ClusterConfig& /*config*/) {
  return {};
}
void NodeRunner::checkpoint_at(BatchIndex /*index*/, std::string /*dir*/,
                               std::function<void(Result<BatchIndex>)> /*done*/) {}
NodeFacts NodeRunner::facts() const {
  return {};
}
LatencyHistogram NodeRunner::append_times() const {
  return {};
}
void NodeRunner::leader_has_ended(uint64_t /*epoch*/) {}
void NodeRunner::on_leader_reached(std::optional<bool> /*reached*/) {}
Nanos NodeRunner::time() const {
  return 0;
}
void NodeRunner::set_time(Nanos /*time*/) {}
void NodeRunner::check_lease() const {}
void NodeRunner::on_lost_body(const Status& /*why*/) const {}
void NodeRunner::on_loop_stalled(Nanos /*stalled*/) const {}
void NodeRunner::leave() {}

bool NodeRunner::is_behind() const {
  return false;
}

}  // namespace perennial::perenniald
