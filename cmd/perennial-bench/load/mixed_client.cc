#include "cmd/perennial-bench/load/mixed_client.h"

#include "engine/types/check.h"

namespace perennial::bench {
namespace {

struct Weight {
  Operation operation;
  uint32_t weight;
};

constexpr std::array weights = {Weight{Operation::Put, 25},    Weight{Operation::Poll, 25},
                                Weight{Operation::Delete, 25}, Weight{Operation::Release, 5},
                                Weight{Operation::Bury, 5},    Weight{Operation::Kick, 5},
                                Weight{Operation::Peek, 10}};
constexpr uint32_t weights_total = 100;

Operation draw(std::mt19937_64& random) {
  auto left = static_cast<uint32_t>(random() % weights_total);
  for (const Weight& each : weights) {
    if (left < each.weight) return each.operation;
    left -= each.weight;
  }
  CHECK(false);
  return Operation::Peek;
}

bool needs_job(Operation operation) {
  return operation == Operation::Delete || operation == Operation::Release ||
         operation == Operation::Bury;
}

}  // namespace

Operation MixedClient::choose(bool may_put) {
  Operation operation = draw(random_);
  if (operation == Operation::Put && !may_put) operation = Operation::Delete;
  if (operation == Operation::Poll && held_count_ == held_max) operation = Operation::Delete;
  if (needs_job(operation) && held_count_ == 0) operation = Operation::Poll;
  return operation;
}

JobId MixedClient::give_up() {
  CHECK(held_count_ > 0);
  const size_t place = random_() % held_count_;
  const JobId job = held_[place];
  held_[place] = held_[--held_count_];
  return job;
}

}  // namespace perennial::bench
