#include "tests/simulation/cluster_run.h"

#include <memory>
#include <utility>

#include "tests/simulation/history.h"

namespace perennial::simulation {
namespace {

constexpr Nanos first_now = 1'700'000'000 * nanos_per_second;
constexpr int leaders_per_run = 5;

enum class End : uint8_t { Kill, PowerCut, Stop, Pause };

// A server and the process that it is in.
struct Leader {
  std::shared_ptr<Replica> replica;
  std::unique_ptr<Server> server;
};

class Run {
 public:
  Run(const ClusterRun& plan, Figures& figures)
      : figures_(figures), random_(plan.seed), cluster_(random_(), plan.bug), clients_(random_()) {}

  std::string run() {
    for (int i = 0; i < leaders_per_run; ++i) {
      if (std::string problem = lead(20 + static_cast<int>(random_() % 120)); !problem.empty()) {
        return problem;
      }
      end();
    }
    leader_ = {};
    overtaken_ = {};
    if (std::string problem = cluster_.catch_up(); !problem.empty()) return problem;
    // Somebody looks at everything once more.
    std::string problem = lead(0);
    figures_.given_up += history_.checker().given_up_count();
    figures_.answers += history_.checker().answer_count();
    return problem;
  }

 private:
  // The next leader serves.
  std::string lead(int steps) {
    leader_.server.reset();
    leader_.replica = cluster_.wait_for_leader();
    if (!cluster_.fault().empty()) return cluster_.fault();
    if (leader_.replica == nullptr) return "no node leads";
    leader_.server =
        std::make_unique<Server>(draw_options(random_), *leader_.replica, history_, now_);
    if (const Status started = leader_.server->start(); !started.ok()) return started.message();
    drive(*leader_.server, history_, clients_, random_, steps, conn_);
    figures_.batches += leader_.server->batches();
    if (!history_.problem().empty()) return history_.problem();
    wake();
    return history_.problem().empty() ? cluster_.fault() : history_.problem();
  }

  // The leader before this one goes on where it stood still. It has an answer for each client that
  // waits, and must not give it.
  void wake() {
    if (overtaken_.server == nullptr) return;
    overtaken_.server->set_deliver([this](ConnId, std::string_view bytes) {
      history_.add({.kind = Event::Kind::Problem,
                    .now = now_,
                    .bytes = "a leader that was overtaken answers " + std::string(bytes)});
    });
    overtaken_.replica->resume();
    if (cluster_.leases_hold()) overtaken_.server->advance(2000 * nanos_per_second);
    // The server owns the bodies of what its node still waits for: they end together, as a process.
    overtaken_.replica->kill();
    overtaken_ = {};
  }

  void end() {
    Server& server = *leader_.server;
    switch (static_cast<End>(random_() % 4)) {
      case End::Kill:
        leader_.replica->kill();
        ++figures_.kills;
        break;
      case End::PowerCut:
        leader_.replica->cut_power();
        ++figures_.power_cuts;
        break;
      case End::Stop:
        static_cast<void>(server.stop());  // It may have lost the lead.
        leader_.replica->kill();
        ++figures_.clean_restarts;
        break;
      case End::Pause:
        leader_.replica->retire();
        ++figures_.faults;
        break;
    }
    now_ = server.now() + static_cast<Nanos>(random_() % 3) * nanos_per_second;
    history_.crashed(false, now_);
    if (leader_.replica->is_retired()) overtaken_ = std::exchange(leader_, {});
  }

  Figures& figures_;
  std::mt19937_64 random_;
  Cluster cluster_;
  History history_{true};
  Clients clients_;
  Nanos now_ = first_now;
  ConnId conn_ = 0;
  Leader leader_;
  Leader overtaken_;
};

}  // namespace

std::string run(const ClusterRun& plan, Figures& figures) {
  ++figures.runs;
  return Run(plan, figures).run();
}

}  // namespace perennial::simulation
