#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cmd/perenniald/http/answer.h"
#include "cmd/perenniald/http/api/sources.h"
#include "cmd/perenniald/http/sign_in.h"
#include "engine/types/ended_groups.h"

namespace perennial::http {

// What is asked of the jobs that have ended in all tubes.
struct EndedAsked {
  std::string tube = {};  // Empty: of all that the caller may inspect.
  EndSet how = {JobEnd::Deleted, JobEnd::Flushed, JobEnd::Expired};
  std::optional<std::string> user = {};
  Nanos since = 0;  // Since the epoch.
  std::optional<EndedPosition> after = {};
  uint64_t limit = 0;
};

// Lists what has ended in all tubes, in groups, the newest first. The disk is read on the pool, and
// the tubes are chosen in steps. One list is made at a time for all clients, so that the others
// neither hold the pool nor names of tubes; they wait for their turn.
class EndedLists {
 public:
  // What one list looks at, at most: tubes in the order of names, and jobs.
  static constexpr size_t tubes_max = 20'000;
  static constexpr uint64_t jobs_max = 20'000;

  explicit EndedLists(ApiSources& sources) : sources_(sources) {}

  std::unique_ptr<Answer> open(const Caller& caller, EndedAsked asked);

 private:
  class List;

  // The disk is read for nobody, or has been read.
  void on_read();
  // The first list has its turn.
  void wake_first();

  ApiSources& sources_;
  std::deque<List*> lists_;  // In the order in which they have come.
  bool is_reading_ = false;  // Perhaps for a client that is gone.
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
};

// A position as the text that clients send back: `next` and `after`.
std::string cursor_of(const EndedPosition& position);
std::optional<EndedPosition> position_of(std::string_view cursor);

}  // namespace perennial::http
