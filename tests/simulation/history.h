#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/image.h"
#include "tests/simulation/checker.h"

namespace perennial::simulation {

// One thing that happened and that others can know of.
struct Event {
  enum class Kind : uint8_t {
    Opened,
    Sent,
    Received,
    Closed,
    Durable,      // Everything up to this batch.
    ToldDurable,  // Everything that was told so far.
    Batch,        // Handed over: what it leads to.
    Found,        // What a start found.
    Problem
  };
  Kind kind = Kind::Sent;
  ConnId conn = 0;
  Nanos now = 0;
  BatchIndex index = 0;
  std::string bytes = {};  // What was sent or received; an image; what is wrong.
};

// Bytes for a pipe, and back. What is incomplete at the end never happened.
std::string encode(const Event& event);
std::vector<Event> decode_events(std::string_view bytes);

// An image in text, so that two of them can be compared and shown.
std::string text_of(const engine::Image& image);

// All that happened in the life of a data directory, over all its servers: what each client was
// told, for the checker, and what each batch that was handed over leads to. After each start the
// disk must hold what some batch led to, and none before the last that was known to be durable.
class History {
 public:
  explicit History(bool told_is_durable) : checker_(told_is_durable) {}

  // Where each event goes besides, before it takes effect here.
  void set_sink(std::function<void(const Event&)> sink) { sink_ = std::move(sink); }
  void add(const Event& event);
  void crashed(bool loses_unsynced, Nanos now);

  // Leaves all to what clients are told.
  void ignore_images() { ignores_images_ = true; }

  Checker& checker() { return checker_; }
  // The first thing that is wrong; empty if nothing is.
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
