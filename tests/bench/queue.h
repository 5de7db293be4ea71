#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "engine/engine.h"

namespace perennial::microbench {

// An engine that holds so many jobs, spread over so many tubes, each with a connection of its own
// that uses and watches it alone. Steps go to the tubes in turn, as far as they have jobs; what
// steps take away must be put back before they are repeated.
class Queue {
 public:
  // REQUIRES: both are above 0.
  Queue(uint32_t tubes, uint32_t jobs);

  // Each is one input, for the tube whose turn it is, and is checked to have done what it says.
  JobId put(uint32_t delay_s = 0);
  JobId reserve();
  void remove(JobId id);
  void release(JobId id, uint32_t delay_s);
  void bury(JobId id);
  void kick_job(JobId id);
  void touch(JobId id);
  // The oldest buried job of the tube.
  void kick_one();
  // A job's life in a tube that is empty but for a worker who waits: reserve, put, delete.
  void pass_on();
  // Lets time pass, then ticks once. Returns how many jobs moved.
  size_t pass(uint32_t seconds);
  // Steps start with the first tube again: the same tubes have what was done to them undone.
  void rewind() { turn_ = 0; }

 private:
  void apply(ConnId conn, engine::Event event);
  // A connection of its own, which uses and watches this tube alone.
  ConnId connect(const std::string& tube);
  // The connection of the tube whose turn it is, or was.
  ConnId take_turn() { return first_conn + turn_++ % used_tubes_; }
  uint32_t next_priority();
  // The input before was answered with this and with nothing else.
  void expect(Word word) const;

  static constexpr ConnId first_conn = 1;

  engine::Engine engine_;
  engine::Output out_;
  Nanos now_ = 1'700'000'000 * nanos_per_second;
  ConnId used_tubes_;  // Those with jobs: the first.
  ConnId turn_ = 0;
  ConnId conn_count_ = 0;
  ConnId worker_ = 0;  // Of the empty tube.
  ConnId producer_ = 0;
  uint32_t chance_ = 1;
};

// The queues that were asked for, each made once: a million jobs take their time.
class Queues {
 public:
  Queue& of(uint32_t tubes, uint32_t jobs);

 private:
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<Queue>> queues_;
};

}  // namespace perennial::microbench
