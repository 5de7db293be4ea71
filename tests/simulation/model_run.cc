#include "tests/simulation/model_run.h"

#include "tests/simulation/model_disk.h"

namespace perennial::simulation {
namespace {

// A day in 2023. The value has no significance.
constexpr Nanos first_now = 1'700'000'000 * nanos_per_second;
constexpr int servers_per_run = 4;

enum class End : uint8_t { Kill, PowerCut, Stop };

// Ends a server in the given way. Returns whether answered but unsynced transitions are lost.
bool end(Server& server, ModelDisk& disk, store::Durability durability, End how, Figures& figures) {
  switch (how) {
    case End::Kill:
      disk.kill();
      ++figures.kills;
      return false;
    case End::PowerCut:
      disk.cut_power();
      ++figures.power_cuts;
      return durability != store::Durability::Commit;
    case End::Stop:
      CHECK(server.stop().ok());
      ++figures.clean_restarts;
      return false;
  }
  return false;
}

}  // namespace

std::string run(const ModelRun& plan, Figures& figures) {
  std::mt19937_64 random(plan.seed);
  ModelDisk model(plan.durability, random());
  BuggyDisk disk(model, plan.bug);
  History history(plan.durability == store::Durability::Commit);
  if (plan.ignores_images) history.ignore_images();
  Clients clients(random());
  Nanos now = first_now;
  ConnId conn = 0;
  ++figures.runs;
  for (int server_number = 0; server_number < servers_per_run && history.problem().empty();
       ++server_number) {
    Server server(draw_options(random), disk, history, now);
    if (plan.bug == Bug::IgnoresLeases) server.ignore_leases();
    if (plan.bug == Bug::HandsOutTwice) server.set_deliver(hand_out_twice(history, server));
    if (const Status started = server.start(); !started.ok()) return started.message();
    drive(server, history, clients, random, 20 + static_cast<int>(random() % 120), conn);
    figures.batches += server.batches();
    if (!history.problem().empty()) break;
    const bool loses = end(server, model, plan.durability, static_cast<End>(random() % 3), figures);
    now = server.now() + static_cast<Nanos>(random() % 3) * nanos_per_second;
    history.crashed(loses, now);
  }
  figures.given_up += history.checker().given_up_count();
  figures.answers += history.checker().answer_count();
  return history.problem();
}

}  // namespace perennial::simulation
