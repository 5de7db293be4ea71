#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "store/commit/local_log.h"
#include "tests/simulation/disk.h"

namespace perennial::simulation {

// The real store and its log. A failure calls the fatal event of the options.
class StoreDisk : public Disk {
 public:
  explicit StoreDisk(store::Options options) : options_(std::move(options)) {}

  Result<Found> open() override;
  void submit(store::Batch&& batch) override;
  Done finish() override;
  Done look() override;
  Result<Body> body(JobId id) override;
  Result<std::vector<Note>> notes(JobId id) override;
  Result<core::EndedResult> ended(const core::EndedRead& read) override;
  Status close(JobId next_id) override;

 private:
  void wake();

  const store::Options options_;
  std::unique_ptr<store::Store> store_;
  std::mutex mutex_;  // The log's thread notifies, the server waits.
  std::condition_variable woken_;
  bool is_awake_ = false;
  std::unique_ptr<store::LocalLog> log_;
};

}  // namespace perennial::simulation
