#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perenniald/http/answer.h"
#include "cmd/perenniald/http/api/sources.h"
#include "cmd/perenniald/http/sign_in.h"

namespace perennial::http {

// Server-sent events: a stream of what changes, a frame a second for each topic. A frame is
// formatted once for all who read it. Who reads slowly misses frames, and none waits for him.
class Events {
 public:
  static constexpr size_t streams_max = 32;
  static constexpr size_t topics_max = 20;

  // `frame` makes the data of a topic.
  explicit Events(std::function<std::string(const std::string& topic)> frame)
      : frame_(std::move(frame)) {}

  bool has_slot() const { return streams_.size() < streams_max; }
  // REQUIRES: has_slot(). `first`: comes once, before all topics. `is_over`: whether the reader may
  // read no longer. `own`: the data of a topic that depends on the reader; empty for all other
  // topics.
  std::unique_ptr<Answer> open(std::vector<std::string> topics, std::string first,
                               std::function<bool()> is_over,
                               std::function<std::string(const std::string& topic)> own);
  // Once a second.
  void on_time();
  size_t count() const { return streams_.size(); }

 private:
  class Stream;

  const std::string& frame_of(const std::string& topic);

  const std::function<std::string(const std::string&)> frame_;
  std::set<Stream*> streams_;
  std::map<std::string, std::string> frames_;  // Of this second.
};

}  // namespace perennial::http
