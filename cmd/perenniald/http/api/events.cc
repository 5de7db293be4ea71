#include "cmd/perenniald/http/api/events.h"

#include <utility>

#include <fmt/format.h>

namespace perennial::http {

class Events::Stream final : public Answer {
 public:
  Stream(Events& events, std::vector<std::string> topics, std::string first,
         std::function<bool()> is_over, std::function<std::string(const std::string&)> own)
      : events_(events),
        topics_(std::move(topics)),
        first_(std::move(first)),
        is_over_(std::move(is_over)),
        own_(std::move(own)) {
    events_.streams_.insert(this);
  }
  ~Stream() override { events_.streams_.erase(this); }

  Step step() override { return Step::Whole; }
  Response take() override {
    return {.is_endless = true,
            .content_type = "text/event-stream; charset=utf-8",
            .body = "retry: 3000\n\n" + first_ + more(),
            .fields = {{"X-Accel-Buffering", "no"}}};
  }
  std::string more() override {
    std::string out;
    for (const std::string& topic : topics_) {
      const std::string own = own_(topic);
      out += fmt::format("event: {}\ndata: {}\n\n", topic,
                         own.empty() ? events_.frame_of(topic) : own);
    }
    return out;
  }
  bool is_over() override { return is_over_(); }

 private:
  Events& events_;
  const std::vector<std::string> topics_;
  const std::string first_;
  const std::function<bool()> is_over_;
  const std::function<std::string(const std::string&)> own_;
};

std::unique_ptr<Answer> Events::open(std::vector<std::string> topics, std::string first,
                                     std::function<bool()> is_over,
                                     std::function<std::string(const std::string&)> own) {
  return std::make_unique<Stream>(*this, std::move(topics), std::move(first), std::move(is_over),
                                  std::move(own));
}

void Events::on_time() {
  frames_.clear();
  for (Stream* const stream : streams_) stream->wake();
}

const std::string& Events::frame_of(const std::string& topic) {
  const auto found = frames_.find(topic);
  if (found != frames_.end()) return found->second;
  return frames_.emplace(topic, frame_(topic)).first->second;
}

}  // namespace perennial::http
