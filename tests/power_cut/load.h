#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/types/basic.h"
#include "tests/support/server_process.h"

namespace perennial::power_cut {

// The commands that are sent to the recorded server, on several connections, each with several
// commands in flight. A job belongs to the connection that has put it, so its commands have one
// order. history.h reads from the recording what was asked and answered; this class remembers only
// what it needs to ask on.
class Load {
 public:
  // `after_round` is called when every command of a round was answered.
  explicit Load(uint64_t seed, std::function<void()> after_round = {})
      : random_(seed), after_round_(std::move(after_round)) {}

  // Connects to a server that has just begun.
  Status open(const support::ServerProcess& server);
  // Each round sends a few commands on each connection, and then reads all answers.
  Status run(int rounds);
  // Puts bodies of over a megabyte until RocksDB must begin another log file, runs a round with
  // each of them, and deletes them.
  Status run_with_large_bodies(int count);
  // Runs while a checkpoint is made.
  Status run_with_checkpoint(int rounds);
  // Waits until everything is on the disk, reservations, too, and closes the connections.
  Status close();

 private:
  enum class State : uint8_t { Ready, Held, Delayed, Buried, Ended, Gone };
  struct Job {
    JobId id = 0;
    State state = State::Ready;
    std::string tube = {};
    std::string key = {};
    State back = State::Ready;  // Of one that has ended: what it is when it is put back.
  };
  struct Connection {
    support::ClientSocket socket = {};
    size_t index = 0;
    std::string lines = {};
    std::vector<Job> put = {};  // In the order of the answers that have their ids.
    size_t answers = 0;         // How many are to come.
  };

  void choose(Connection& connection);
  void choose_put(Connection& connection);
  void choose_put_batch(Connection& connection);
  void choose_delete_batch(Connection& connection);
  void choose_duplicate(Connection& connection);
  void choose_for_job(Connection& connection, Job& job);
  void choose_for_tube(Connection& connection);
  void choose_flush(Connection& connection);
  void restore(Connection& connection, Job& job);
  static void end(Job& job);
  void say(Connection& connection, std::string_view line);
  Status run_round();
  Status read_answers(Connection& connection);
  std::string body(size_t bytes);
  uint32_t pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  std::mt19937_64 random_;
  const std::function<void()> after_round_;
  std::string address_;
  std::vector<Connection> connections_;
  std::vector<std::vector<Job>> jobs_;  // By connection.
  uint64_t last_serial_ = 0;
};

}  // namespace perennial::power_cut
