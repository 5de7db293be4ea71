#include "cmd/perenniald/cluster/member.h"

// For a program that is built without clusters (-DPERENNIAL_CLUSTER=OFF). No member is ever made.
namespace perennial::perenniald {

Result<std::unique_ptr<Member>> Member::create(const ClusterConfig& /*config*/,
                                               const std::string& /*version*/,
                                               std::function<void()> /*wake*/) {
  return Status(StatusCode::Unsupported, "this perenniald was built without clusters");
}

Member::~Member() = default;

Status Member::follow(store::Store& /*store*/) {
  CHECK(!"there is no member");
}

Status Member::get_copy(const std::string& /*data_dir*/) {
  CHECK(!"there is no member");
}

Status Member::replace_damaged(const std::string& /*data_dir*/, const Status& /*opened*/) {
  CHECK(!"there is no member");
}

void Member::give_up() {}
std::optional<Failure> Member::want_copy(const std::string& /*data_dir*/,
                                         const Status& /*loaded*/) {
  return std::nullopt;
}
Status Member::get_wanted_copy(const std::string& /*data_dir*/) {
  return {};
}
void Member::cancel() {}
void Member::set_shared_settings(std::map<std::string, std::string> /*settings*/) {}
Status Member::reconfigure(const ClusterConfig& /*config*/) {
  return {};
}
void Member::checkpoint_at(BatchIndex /*index*/, std::string /*dir*/,
                           std::function<void(Result<BatchIndex>)> /*done*/) {}
MemberFacts Member::facts() const {
  return {};
}
LatencyHistogram Member::append_times() const {
  return {};
}
void Member::leader_has_ended(uint64_t /*epoch*/) {}
void Member::on_leader_reached(std::optional<bool> /*reached*/) {}
Nanos Member::time() const {
  return 0;
}
void Member::set_time(Nanos /*time*/) {}
void Member::check_lease() const {}
void Member::on_lost_body(const Status& /*why*/) const {}
void Member::on_loop_stalled(Nanos /*stalled*/) const {}
void Member::leave() {}

bool Member::is_behind() const {
  return false;
}

}  // namespace perennial::perenniald
