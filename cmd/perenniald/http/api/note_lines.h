#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cmd/perenniald/http/answer.h"
#include "cmd/perenniald/http/api/json.h"
#include "cmd/perenniald/http/queue_client.h"
#include "cmd/perenniald/http/sign_in.h"
#include "engine/types/basic.h"
#include "engine/types/stats.h"

// The newest note of a job, as lists show it: two lines of it.
namespace perennial::http {

struct NoteLines {
  uint32_t number = 0;  // How many notes the job had with this one. 0: it has none.
  uint32_t attempt = 0;
  std::string time = {};  // RFC 3339.
  std::string user = {};
  // What says which kind of failure it is: the first line that is not empty. Of a traceback of
  // Python, which begins with the same line each time, it is the last one.
  std::string line = {};
  std::string last_line = {};

  // A line of a list is cut off behind so many bytes.
  static constexpr size_t line_bytes_max = 300;
};

// Whether a line is the wanted one, or begins with what is before a "*" at its end.
bool fits_line(std::string_view wanted, std::string_view line);
// Takes the two lines out of the text of a note.
void set_lines(NoteLines& note, std::string_view text);
// Null: there is no note.
Json json_of(const NoteLines& note);

// The notes that were read last. A note does not change, so that a list which is asked for again
// reads only what is new. Whoever asks may inspect the tube of the job.
class NoteCache {
 public:
  static constexpr size_t notes_max = 20'000;

  // Null: the note with this number is not there.
  const NoteLines* find(JobId job, uint32_t number) const;
  void keep(JobId job, NoteLines note);
  size_t size() const { return notes_.size(); }

 private:
  std::unordered_map<JobId, NoteLines> notes_;
  std::deque<JobId> order_;  // In which they came.
};

// Reads the newest notes of jobs, so many at a time. They are on disk, and read on the pool.
class NoteReader {
 public:
  static constexpr size_t jobs_max = 50;

  NoteReader(QueueClients& queue, access::ClientRights rights, NoteCache& cache)
      : queue_(queue), rights_(std::move(rights)), cache_(cache) {}

  // Begins to read. REQUIRES: is_done(). At most jobs_max jobs. `wake` is called when step() can
  // go on.
  void begin(const std::vector<JobStats>& jobs, const std::function<void()>& wake);
  // Returns whether all are read.
  bool step();
  bool is_done() const { return asked_.empty(); }
  // Of a job that was given to begin() last. Number 0: it has no note, or is gone.
  const NoteLines& of(JobId job) const;

 private:
  QueueClients& queue_;
  const access::ClientRights rights_;
  NoteCache& cache_;
  std::unique_ptr<QueueClient> client_;
  std::deque<JobId> asked_;
  std::unordered_map<JobId, NoteLines> read_;
};

// How many notes the job has had.
inline uint32_t notes_of(const JobStats& job) {
  return job.more ? job.more->notes : 0;
}

}  // namespace perennial::http
