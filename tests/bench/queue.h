#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "engine/engine.h"

namespace perennial::microbench {

// An engine with `jobs` jobs in `tubes` tubes. Each tube has a connection that uses and watches
// only this tube. Steps go to the tubes that have jobs, in turn. What a step has changed must be
// undone before it is repeated.
class Queue {
 public:
  // REQUIRES: both are above 0.
  Queue(uint32_t tubes, uint32_t jobs);

  // Each function is one input for the tube whose turn it is, and checks the reply.
  JobId put(uint32_t delay_s = 0);
  JobId reserve();
  void remove(JobId id);
  void release(JobId id, uint32_t delay_s);
  void bury(JobId id);
  void kick_job(JobId id);
  void touch(JobId id);
  // Kicks the oldest buried job of the tube.
  void kick_one();
  // Reserves, puts and deletes a job in a tube without other jobs: the reserve waits for the put.
  void reserve_put_delete();
  // Advances the time and ticks once. Returns the number of transitions.
  size_t advance_time(uint32_t seconds);
  // Continues with the first tube, so that the same tubes are used when a step is undone.
  void rewind() { turn_ = 0; }

 private:
  void apply(ConnId conn, engine::Event event);
  // Opens a connection that uses and watches only this tube.
  ConnId connect(const std::string& tube);
  // Returns the connection of the tube whose turn it is, and goes to the next tube.
  ConnId take_turn() { return first_conn + turn_++ % used_tubes_; }
  uint32_t next_priority();
  // Checks that the last input was answered with this word and nothing else.
  void expect(Word word) const;

  static constexpr ConnId first_conn = 1;

  engine::Engine engine_;
  engine::Output out_;
  Nanos now_ = 1'700'000'000 * nanos_per_second;
  ConnId used_tubes_;  // The number of tubes with jobs, which are the first.
  ConnId turn_ = 0;
  ConnId conn_count_ = 0;
  ConnId worker_ = 0;  // This connection and the next use the empty tube.
  ConnId producer_ = 0;
  uint32_t random_ = 1;
};

// Makes each queue once, because a queue of a million jobs takes long to make.
class Queues {
 public:
  Queue& of(uint32_t tubes, uint32_t jobs);

 private:
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<Queue>> queues_;
};

}  // namespace perennial::microbench
