#include "store/cluster/follower.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "store/cluster/entry.h"
#include "store/cluster/timing.h"

namespace perennial::store::cluster {
namespace {

// The entries of the first page, and of one after a failure. An entry is at most 1.5 MiB, so these
// fit the largest response that the client accepts, which is 32 MiB.
constexpr int64_t page_entries = 16;
// Where entries are small a page may have more: as many as would fill page_bytes if they were like
// those of the last page, and at most twice as many as that had.
constexpr uint64_t page_bytes = 4 << 20;
constexpr int64_t page_entries_max = 512;

int64_t next_page(int64_t entries, const etcd::Found& last) {
  uint64_t bytes = 1;
  for (const etcd::KeyValue& entry : last.keys) bytes += entry.value.size();
  const uint64_t fit = page_bytes * last.keys.size() / bytes;
  const int64_t most = std::min(2 * entries, page_entries_max);
  return std::clamp(static_cast<int64_t>(std::min<uint64_t>(fit, page_entries_max)), page_entries,
                    most);
}

}  // namespace

Follower::Follower(etcd::Executor& executor, etcd::Client& client, const Keys& keys, Events events)
    : executor_(executor),
      client_(client),
      keys_(keys),
      events_(std::move(events)),
      page_(page_entries) {}

void Follower::start(const Position& position) {
  CHECK(!running_);
  CHECK(position.next != 0);
  position_ = position;
  resume();
}

void Follower::pause() {
  ++generation_;
  running_ = false;
  if (watch_ != 0) client_.cancel_watch(std::exchange(watch_, 0));
}

void Follower::resume() {
  if (running_) return;
  ++generation_;
  running_ = true;
  read();
}

void Follower::finish() {
  finishing_ = true;
  pause();
  resume();
}

void Follower::read() {
  etcd::Get page = {.range = keys_.entries_from(position_.next - 1), .limit = page_};
  client_.get(std::move(page), executor_.now() + call_timeout,
              [this, generation = generation_](const auto& outcome) {
                if (generation == generation_) on_read(outcome);
              });
}

void Follower::on_read(const etcd::Outcome<etcd::Found>& outcome) {
  if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) {
    events_.failed(*failure);
    page_ = page_entries;
    return read_later();
  }
  const auto& found = std::get<etcd::Found>(outcome);
  page_ = next_page(page_, found);
  const uint64_t generation = generation_;
  if (!take(found)) return;
  if (generation != generation_) return;  // The owner has paused this from inside an event.
  if (found.more) return read();
  if (!finishing_) {
    watch(found.revision + 1);
    return events_.current();
  }
  pause();
  events_.finished();
}

bool Follower::take(const etcd::Found& found) {
  if (!begins_as_expected(found)) return false;
  const uint64_t generation = generation_;
  for (const etcd::KeyValue& entry : found.keys) {
    const std::optional<BatchIndex> index = keys_.index_of(entry.key);
    if (index && *index + 1 == position_.next) continue;  // The one that was passed on last.
    if (!index || *index != position_.next) {
      pause();
      events_.behind(index.value_or(0));
      return false;
    }
    if (!pass_on(entry)) return false;
    if (generation != generation_) break;
  }
  return true;
}

// The page was asked for from the entry that this node has passed on last, and the newest entry of
// a log is never trimmed. So an empty page means that the log ends before what this node holds:
// it has another history. The exception is a log that begins right after what this node holds.
bool Follower::begins_as_expected(const etcd::Found& found) {
  const BatchIndex last = position_.next - 1;
  if (found.keys.empty()) {
    if (last == position_.base) return true;
    end_with(StatusCode::Corruption,
             fmt::format("this node holds batch {}, and the log in etcd ends before it", last));
    return false;
  }
  const etcd::KeyValue& first = found.keys[0];
  if (keys_.index_of(first.key) != last || position_.previous == 0) return true;
  if (hash_of_entry(first.value) == position_.previous) return true;
  end_with(StatusCode::Corruption,
           fmt::format("batch {} of this node is not that of the log in etcd", last));
  return false;
}

bool Follower::pass_on(const etcd::KeyValue& entry) {
  const BatchIndex index = position_.next;
  const Result<Entry> opened = open_entry(entry.value);
  if (!opened.ok()) {
    end_with(opened.status().code(),
             fmt::format("entry {} of the log in etcd: {}", index, opened.status().message()));
    return false;
  }
  const bool is_told = opened->previous != 0 && position_.previous != 0;
  if (is_told && opened->previous != position_.previous) {
    end_with(StatusCode::Corruption,
             fmt::format("batch {} of the log in etcd does not follow batch {} of this node", index,
                         index - 1));
    return false;
  }
  position_.next = index + 1;
  position_.previous = hash_of_entry(entry.value);
  events_.entry(index, std::string(opened->batch));
  return true;
}

void Follower::end_with(StatusCode code, std::string why) {
  pause();
  events_.other_history({code, std::move(why)});
}

void Follower::watch(etcd::Revision from) {
  watch_ = client_.watch(keys_.entries_from(0), from,
                         [this, generation = generation_](const etcd::WatchReport& report) {
                           if (generation == generation_) on_report(report);
                         });
}

void Follower::on_report(const etcd::WatchReport& report) {
  if (const auto* ended = std::get_if<etcd::WatchEnded>(&report)) {
    watch_ = 0;
    // The retry waits, because a watch that ends at once would otherwise be created in a loop.
    events_.failed({.message = "watching the log: " + ended->message});
    return read_later();
  }
  const uint64_t generation = generation_;
  for (const etcd::WatchEvent& event : std::get<etcd::WatchEvents>(report).events) {
    if (event.is_delete) continue;  // The leader has trimmed the log.
    const std::optional<BatchIndex> index = keys_.index_of(event.key.key);
    if (!index || *index < position_.next) continue;
    if (*index > position_.next) {
      // An entry is missing, and since entries are written in order it will not come by the watch.
      // Reading tells whether it was trimmed.
      pause();
      return resume();
    }
    if (!pass_on(event.key) || generation != generation_) return;
  }
}

void Follower::read_later() {
  executor_.after(retry_delay, [this, generation = generation_] {
    if (generation == generation_) read();
  });
}

}  // namespace perennial::store::cluster
