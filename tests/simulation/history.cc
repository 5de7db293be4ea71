#include "tests/simulation/history.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "store/format/format.h"

namespace perennial::simulation {
namespace {

// The header that precedes the bytes of an event.
struct Head {
  Event::Kind kind;
  ConnId conn;
  Nanos now;
  BatchIndex index;
  uint64_t bytes;
};

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return out;
}

}  // namespace

std::string encode(const Event& event) {
  Head head{};
  head.kind = event.kind;
  head.conn = event.conn;
  head.now = event.now;
  head.index = event.index;
  head.bytes = event.bytes.size();
  std::string out(sizeof head, '\0');
  std::memcpy(out.data(), &head, sizeof head);
  return out + event.bytes;
}

std::vector<Event> decode_events(std::string_view bytes) {
  std::vector<Event> events;
  while (bytes.size() >= sizeof(Head)) {
    Head head{};
    std::memcpy(&head, bytes.data(), sizeof head);
    bytes.remove_prefix(sizeof head);
    if (bytes.size() < head.bytes) break;
    events.push_back({.kind = head.kind,
                      .conn = head.conn,
                      .now = head.now,
                      .index = head.index,
                      .bytes = std::string(bytes.substr(0, head.bytes))});
    bytes.remove_prefix(head.bytes);
  }
  return events;
}

std::string text_of(const engine::Image& image) {
  std::string text;
  const auto out = std::back_inserter(text);
  for (const auto& [id, name] : image.tubes) fmt::format_to(out, "tube {} {}\n", id, name);
  for (const auto& [id, pause] : image.pauses)
    fmt::format_to(out, "pause {} {} {}\n", id, pause.first, pause.second);
  for (const auto& [id, row] : image.jobs) {
    fmt::format_to(out, "job {} {} tube {} pri {} delay {} ttr {} created {} order {}", id,
                   state_name(row.state), row.tube, row.priority, row.delay_s, row.ttr_s,
                   row.created, row.order);
    fmt::format_to(out, " counts {} {} {} {} {} bytes {}\n", row.reserves, row.timeouts,
                   row.releases, row.buries, row.kicks, row.body_bytes);
    if (row.fields) fmt::format_to(out, " fields {}\n", hex(store::view(store::encode(row))));
  }
  for (const auto& [name, key] : image.keys) {
    fmt::format_to(out, "key {} {} {}\n", key.tube, key.key, hex(store::view(store::encode(key))));
  }
  for (const auto& [tube, settings] : image.settings) {
    fmt::format_to(out, "settings {} {}\n", tube, hex(store::encode({tube, settings})));
  }
  for (const auto& [name, stored] : image.schedules) {
    fmt::format_to(
        out, "schedule {} {} {}\n", name,
        hex(store::encode(*stored.schedule, std::string(stored.schedule->put.body_bytes, ' '))),
        hex(store::view(store::encode(stored.progress))));
  }
  for (const auto& [tube, span] : image.ended)
    fmt::format_to(out, "ended {} from {} below {}\n", tube, span.first, span.next);
  return text;
}

void History::add(const Event& event) {
  if (sink_) sink_(event);
  switch (event.kind) {
    case Event::Kind::Opened:
      return checker_.opened(event.conn, false);
    case Event::Kind::OpenedForLeases:
      return checker_.opened(event.conn, true);
    case Event::Kind::Sent:
      return checker_.sent(event.conn, event.bytes, event.now);
    case Event::Kind::Received:
      return checker_.received(event.conn, event.bytes, event.now);
    case Event::Kind::Closed:
      return checker_.closed(event.conn, event.now);
    case Event::Kind::Durable:
      durable_ = event.index;
      images_.erase(images_.begin(), images_.lower_bound(durable_));
      return;
    case Event::Kind::AnswersDurable:
      return checker_.all_durable();
    case Event::Kind::Batch:
      images_[event.index] = event.bytes;
      return;
    case Event::Kind::Found:
      return found(event.index, event.bytes);
    case Event::Kind::Problem:
      if (problem_.empty()) problem_ = event.bytes;
      return;
  }
}

void History::crashed(bool loses_unsynced, Nanos now) {
  checker_.crashed(loses_unsynced, now);
}

const std::string& History::problem() const {
  return problem_.empty() ? checker_.problem() : problem_;
}

void History::found(BatchIndex index, const std::string& image) {
  const auto expected = images_.find(index);
  if (!problem_.empty()) return;
  if (index < durable_) {
    problem_ = fmt::format("batch {} was durable, and the disk ends at {}", durable_, index);
  } else if (expected == images_.end()) {
    problem_ = fmt::format("the disk ends at batch {}, which nobody handed over", index);
  } else if (expected->second != image && !ignores_images_) {
    problem_ = fmt::format("memory and disk differ after batch {}:\n{}----\n{}", index,
                           expected->second, image);
  }
  // Recovery makes durable what a start finds.
  images_ = {{index, image}};
  durable_ = index;
}

}  // namespace perennial::simulation
