#include "tests/power_cut/recorded.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "tests/power_cut/load.h"
#include "tests/support/seed.h"

namespace perennial::power_cut {
namespace {

// How a life of the server ends.
enum class End : uint8_t { Stop, Kill };

// The largest body of the load, and a ballast that makes no image large.
constexpr const char* server_config =
    "job_bytes_max: 2MiB\nlog_bytes_max: 8MiB\nballast_bytes: 4096\n";

void must(const Status& status) {
  if (!status.ok()) std::cerr << status.message() << std::endl;
  CHECK(status.ok());
}

// Each end makes the next start do something else: it replays a log, or finds flushed tables. After
// four flushes RocksDB compacts.
void record(support::ServerProcess& server, const std::function<void()>& after_round) {
  Load load(support::seed(), after_round);
  for (int life = 0; life < 6; ++life) {
    must(server.start());
    must(load.open(server));
    must(load.run(6));
    if (life == 1 || life == 3) must(load.run_with_checkpoint(4));
    if (life == 2) must(load.run_with_large_bodies(8));
    must(load.close());
    const End end = life % 2 == 0 ? End::Stop : End::Kill;
    CHECK((end == End::Stop ? server.terminate() : server.kill_now()).ok());
  }
}

Recorded read(const std::string& file, const std::string& data_dir) {
  Result<Recording> recording = Recording::read(file);
  must(recording.ok() ? Status() : recording.status());
  Result<History> history = read_history(*recording);
  must(history.ok() ? Status() : history.status());
  fmt::print("{}: {} events, {} KiB, {} commands, {} jobs\n", file, recording->events().size(),
             recording->bytes() / 1024, history->commands, history->jobs.size());
  return {
      .recording = recording.take(), .history = history.take(), .file = file, .data_dir = data_dir};
}

Recorded record_or_read() {
  if (!settings().recording.empty()) return read(settings().recording, "");
  static support::TempDir files;
  static support::ServerProcess server(small_server());
  const std::string file = files.path() + "/recording";
  {
    const RecordingOn recording(server.data_dir(), file);
    record(server, {});
  }
  return read(file, server.data_dir());
}

}  // namespace

support::ServerSetup small_server() {
  static support::TempDir dir;
  const std::string path = dir.path() + "/config.yaml";
  std::ofstream(path) << server_config;
  return {.flags = {"--config", path}};
}

RecordingOn::RecordingOn(const std::string& dir, const std::string& file) {
  CHECK(::setenv("LD_PRELOAD", RECORD_WRITES, 1) == 0);
  CHECK(::setenv("RECORD_DIR", dir.c_str(), 1) == 0);
  CHECK(::setenv("RECORD_TO", file.c_str(), 1) == 0);
}

RecordingOn::~RecordingOn() {
  ::unsetenv("LD_PRELOAD");
}

Settings& settings() {
  static Settings one;
  return one;
}

void record_to(const std::string& file) {
  support::ServerProcess server(small_server());
  const RecordingOn recording(server.data_dir(), file);
  record(server, [&] {
    if (settings().after_round.empty()) return;
    const std::string command =
        fmt::format("{} {}", settings().after_round, std::filesystem::file_size(file));
    // Without the library that records.
    CHECK(std::system(("unset LD_PRELOAD; " + command).c_str()) == 0);
  });
}

const Recorded& recorded() {
  static const Recorded one = record_or_read();
  return one;
}

}  // namespace perennial::power_cut
