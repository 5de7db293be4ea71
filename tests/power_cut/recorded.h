#pragma once

#include <cstdint>
#include <string>

#include "tests/power_cut/history.h"
#include "tests/power_cut/recording.h"
#include "tests/support/server_process.h"

namespace perennial::power_cut {

// From the command line.
struct Settings {
  uint64_t images = 1000;
  std::string recording = {};    // A file from an earlier run. Empty: a server is recorded.
  std::string after_round = {};  // Of a program that record_to() calls with the size of the file.
};
Settings& settings();

// A server with limits that keep recordings and images small.
support::ServerSetup small_server();

// While this lives, servers that are started are recorded: what they write to `dir`, into `file`.
class RecordingOn {
 public:
  RecordingOn(const std::string& dir, const std::string& file);
  ~RecordingOn();
  RecordingOn(const RecordingOn&) = delete;
  RecordingOn& operator=(const RecordingOn&) = delete;
};

// Loads a server, whose directory is below TMPDIR, and records it into `file`.
void record_to(const std::string& file);

// What the tests of this binary share: the load on the real server was recorded once.
struct Recorded {
  Recording recording;
  History history;
  std::string file;      // Of the recording.
  std::string data_dir;  // As the server has left it. Empty: the recording is from an earlier run.
};
// Records at the first call. A failure is a CHECK, because no test can go on.
const Recorded& recorded();

}  // namespace perennial::power_cut
