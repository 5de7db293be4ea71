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

void Member::cancel() {}
void Member::check_lease() const {}
void Member::leave() {}

}  // namespace perennial::perenniald
