// The command kick-tube.

#include "engine/operations/operations.h"
#include "engine/operations/walk.h"
#include "engine/rules/jobs.h"

namespace perennial::engine {
namespace {

class KickingTube final : public Walk {
 public:
  KickingTube(State& state, Conn& conn, const KickTube& kick)
      : Walk(state, conn, Word::KickedCount, kick.tube, kick.states, kick.match) {}

  // A job that is buried or delayed again is behind the walk, so none is kicked twice.
  void step(State& state, Job& job) override {
    pass(job);
    ++moved_;
    count_kick(state, job);
    move_to_ready(state, job, true);
  }
};

}  // namespace

std::unique_ptr<Operation> make_kick_tube(State& state, Conn& conn, const KickTube& kick) {
  return std::make_unique<KickingTube>(state, conn, kick);
}

}  // namespace perennial::engine
