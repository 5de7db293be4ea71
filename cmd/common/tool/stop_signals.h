#pragma once

#include <csignal>

namespace perennial::tool {

// While an object of this class exists, SIGINT and SIGTERM do not end the process. The program
// polls them between two steps of an operation that must not be interrupted within a step.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Whether a signal has arrived since the construction.
  bool stopped();

 private:
  sigset_t signals_;
  sigset_t before_;
  bool stopped_ = false;
};

}  // namespace perennial::tool
