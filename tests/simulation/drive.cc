#include "tests/simulation/drive.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace perennial::simulation {
namespace {

constexpr size_t conns_max = 6;
constexpr size_t unanswered_max = 4;  // Per connection.

struct Driver {
  Server& server;
  History& history;
  Clients& clients;
  std::mt19937_64& random;
  ConnId& last_conn;

  uint64_t below(uint64_t bound) { return random() % bound; }
  bool is_over() const { return !history.problem().empty() || !server.failure().ok(); }
  ConnId open() {
    server.open(++last_conn, below(3) == 0);
    return last_conn;
  }
  ConnId any_conn() {
    const std::vector<ConnId> conns = history.checker().conns();
    return conns.empty() ? open() : conns[below(conns.size())];
  }
  // Sends one command, or sometimes several at once.
  void send() {
    const ConnId conn = any_conn();
    // A connection whose reserve waits is seldom sent more commands: they would only queue. The
    // number of possible states of a job grows with the number of unanswered commands.
    const Checker& checker = history.checker();
    if (checker.is_waiting_for_job(conn) && below(5) > 0) return;
    if (checker.unanswered(conn) >= unanswered_max) return server.finish_commit();
    const uint64_t count = below(5) == 0 ? 3 : 1;
    for (uint64_t i = 0; i < count && !is_over(); ++i) {
      server.send(conn, clients.next(history.checker(), conn));
    }
  }
  void come_or_go() {
    const size_t count = history.checker().conns().size();
    if (count < 2 || (count < conns_max && below(2) == 0)) {
      open();
    } else {
      server.close(any_conn());
    }
  }
  void pass_time() {
    constexpr std::array<Nanos, 6> durations = {1, 10, 150, 1000, 3000, 30'000};
    const bool for_long = below(40) == 0;
    server.advance((for_long ? 1'000'000 : durations[below(durations.size())]) * nanos_per_ms);
  }
  void audit() {
    const ConnId conn = open();
    for (const std::string& line : clients.audit(history.checker())) {
      server.send(conn, line);
      server.run_until_idle();
      if (is_over()) return;
    }
    server.close(conn);
  }
  void step() {
    const uint64_t drawn = below(100);
    if (drawn < 55) return send();
    if (drawn < 70) return server.begin_commit();
    if (drawn < 88) return server.finish_commit();
    if (drawn < 91) return server.look();
    if (drawn < 97) return pass_time();
    come_or_go();
  }
};

}  // namespace

void Figures::print(const char* name) const {
  fmt::print(
      "{}: {} runs, {} kills, {} power cuts, {} clean restarts, {} faults injected, {} logs and {} "
      "MANIFESTs cut, {} of {} copies refused whose log lost its end, {} answers checked, {} "
      "batches, "
      "{} jobs not followed\n",
      name, runs, kills, power_cuts, clean_restarts, faults, logs_truncated, manifests_truncated,
      losses_refused, logs_lost, answers, batches, given_up);
}

core::Options draw_options(std::mt19937_64& random) {
  core::Options options;
  options.engine.transitions_per_turn_max = random() % 3 == 0 ? 1 + random() % 4 : 10'000;
  options.engine.cost_per_turn_max = random() % 3 == 0 ? 1 + random() % 200 : 500'000;
  options.engine.names_per_part_max = random() % 3 == 0 ? 1 + random() % 3 : 4'096;
  options.run_cost_max = random() % 3 == 0 ? 1 + random() % 300 : 100'000;
  options.engine.id_block = static_cast<uint32_t>(1 + random() % 60);
  options.body_cache_bytes = random() % 2 == 0 ? random() % 1000 : 64 << 20;
  options.batch_bytes_max = random() % 3 == 0 ? 300 + random() % 3000 : 4 << 20;
  options.pending_bytes_max = random() % 4 == 0 ? 500 + random() % 3000 : 64 << 20;
  return options;
}

void drive(Server& server, History& history, Clients& clients, std::mt19937_64& random, int steps,
           ConnId& conn) {
  Driver driver{.server = server,
                .history = history,
                .clients = clients,
                .random = random,
                .last_conn = conn};
  driver.audit();
  for (int i = 0; i < 3 && !driver.is_over(); ++i) driver.open();
  for (int i = 0; i < steps && !driver.is_over(); ++i) driver.step();
}

}  // namespace perennial::simulation
