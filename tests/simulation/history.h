#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/image.h"
#include "tests/simulation/checker.h"

namespace perennial::simulation {

// One event that is visible outside the server.
struct Event {
  enum class Kind : uint8_t {
    Opened,
    OpenedForLeases,  // A client that stands for leases.
    Sent,
    Received,
    Closed,
    Durable,         // All batches up to this index.
    AnswersDurable,  // Everything that clients were answered so far.
    Batch,           // A batch was handed over. The image is its result.
    Found,           // The result of a start.
    Problem
  };
  Kind kind = Kind::Sent;
  ConnId conn = 0;
  Nanos now = 0;
  BatchIndex index = 0;
  std::string bytes = {};  // Bytes that were sent or received, an image, or a problem.
};

// The form in which events pass through a pipe. decode_events() ignores an incomplete event at the
// end.
std::string encode(const Event& event);
std::vector<Event> decode_events(std::string_view bytes);

// An image as text, which can be compared and printed.
std::string text_of(const engine::Image& image);

// All events in the existence of a data directory, across all its servers: what each client was
// answered, for the checker, and the image after each batch. After each start the disk must hold
// the image of some batch, and no earlier one than the last batch known to be durable.
class History {
 public:
  explicit History(bool answers_are_durable) : checker_(answers_are_durable) {}

  // Sets a second receiver of each event, which is called before the event takes effect here.
  void set_sink(std::function<void(const Event&)> sink) { sink_ = std::move(sink); }
  void add(const Event& event);
  void crashed(bool loses_unsynced, Nanos now);

  // Judges only by the answers that clients receive.
  void ignore_images() { ignores_images_ = true; }

  Checker& checker() { return checker_; }
  // The first problem, or an empty string.
  const std::string& problem() const;
  // The image after the last batch.
  const std::string& last_image() const { return images_.rbegin()->second; }

 private:
  void found(BatchIndex index, const std::string& image);

  Checker checker_;
  std::function<void(const Event&)> sink_;
  std::map<BatchIndex, std::string> images_ = {{0, ""}};  // After each batch, from durable_ on.
  BatchIndex durable_ = 0;
  std::string problem_;
  bool ignores_images_ = false;
};

}  // namespace perennial::simulation
