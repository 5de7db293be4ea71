#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tests/support/core_harness.h"
#include "tests/transcripts/transcript.h"

namespace perennial::transcripts {

// Runs a transcript on Core, with a fake clock and a store in memory.
class CoreDriver : public Driver {
 public:
  CoreDriver() { options_.engine.id_block = 100; }

  void set(const std::string& setting, int64_t value) override;
  void send(const std::string& client, const std::string& bytes) override;
  void end(const std::string& client) override;
  void close(const std::string& client) override;
  std::optional<std::string> receive(const std::string& client) override;
  bool closed(const std::string& client) override;
  void advance(Nanos by) override;
  void skip(Nanos by) override;
  void act(const Line& line) override;
  void check() override;

 private:
  support::CoreHarness& harness();
  ConnId conn(const std::string& client);

  core::Options options_;
  std::unique_ptr<support::CoreHarness> harness_;
  std::map<std::string, ConnId> conns_;
  std::map<std::string, std::string> received_;
};

}  // namespace perennial::transcripts
