#include "cmd/perenniald/snapshot/peer_checkpoints.h"
#include "engine/types/check.h"

// For a program that is built without clusters (-DPERENNIAL_CLUSTER=OFF).
namespace perennial::perenniald {

PeerCheckpoints::PeerCheckpoints(Parts parts) : parts_(std::move(parts)) {}
PeerCheckpoints::~PeerCheckpoints() = default;
std::unique_ptr<http::Answer> PeerCheckpoints::checkpoint() {
  CHECK(!"there is no member");
}
std::unique_ptr<http::Answer> PeerCheckpoints::digest(BatchIndex /*at*/) {
  CHECK(!"there is no member");
}
void PeerCheckpoints::on_wake() {}
void PeerCheckpoints::stop() {}

}  // namespace perennial::perenniald
