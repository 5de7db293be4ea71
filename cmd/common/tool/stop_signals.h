#pragma once

#include <csignal>

namespace perennial::tool {

// While one of these lives, SIGINT and SIGTERM do not end the process but are asked for, between
// two steps of something that must not be left half done.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Whether one has come; then it stays so.
  bool stopped();

 private:
  sigset_t signals_;
  sigset_t before_;
  bool stopped_ = false;
};

}  // namespace perennial::tool
