#include "store/cluster/appender.h"

#include <utility>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "store/cluster/timing.h"

namespace perennial::store::cluster {

using etcd::Compare;

Appender::Appender(etcd::Executor& executor, etcd::Client& client, const Keys& keys, Events events)
    : executor_(executor), client_(client), keys_(keys), events_(std::move(events)) {}

void Appender::lead(etcd::Revision token, BatchIndex last, bool is_empty) {
  CHECK(token != 0);
  CHECK(idle());
  token_ = token;
  last_ = last;
  is_empty_ = is_empty;
}

void Appender::stop() {
  token_ = 0;
  entry_.reset();
}

void Appender::append(BatchIndex index, std::string bytes, BatchIndex trim_before) {
  CHECK(token_ != 0);
  CHECK(idle());
  CHECK(index == last_ + 1);
  CHECK(trim_before <= last_);
  entry_ = {.index = index,
            .bytes = std::move(bytes),
            .trim_before = trim_before,
            .begun_at = executor_.now()};
  send();
}

void Appender::send() {
  const std::string key = keys_.entry(entry_->index);
  etcd::Transaction append;
  append.conditions = {
      {.key = keys_.leader(), .field = Compare::Field::ModRevision, .number = token_},
      {.key = key, .field = Compare::Field::Version, .number = 0}};
  if (!is_empty_) {
    // The entry before must be there. The two conditions above imply it; this one makes sure that
    // the log never has a gap, even where somebody deletes keys in etcd by hand.
    append.conditions.push_back({.key = keys_.entry(last_),
                                 .field = Compare::Field::Version,
                                 .is = Compare::Is::NotEqual,
                                 .number = 0});
  }
  append.then.emplace_back(etcd::Put{.key = key, .value = entry_->bytes});
  if (entry_->trim_before != 0) {
    append.then.emplace_back(etcd::Delete{keys_.entries_before(entry_->trim_before)});
  }
  client_.commit(std::move(append), executor_.now() + call_timeout,
                 [this](const auto& outcome) { on_sent(outcome); });
}

void Appender::on_sent(const etcd::Outcome<etcd::TransactionDone>& outcome) {
  if (!entry_) return;  // stop() was called meanwhile.
  if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) {
    if (failure->error == etcd::CallError::TooLarge) {
      return lose(
          fmt::format("etcd takes no entry of {} bytes; its --max-request-bytes must be at "
                      "least 1572864: {}",
                      entry_->bytes.size(), failure->message));
    }
    return fail(*failure);
  }
  const auto& done = std::get<etcd::TransactionDone>(outcome);
  if (done.held) return commit();
  // A condition did not hold, so this attempt wrote nothing for certain. An earlier attempt whose
  // outcome was unknown may have written the entry, which then is why the index is taken.
  read_outcome();
}

void Appender::read_outcome() {
  etcd::Transaction read;
  read.then.emplace_back(etcd::Get{.range = {.key = keys_.entry(entry_->index), .end = {}}});
  read.then.emplace_back(etcd::Get{.range = {.key = keys_.leader(), .end = {}}});
  if (!is_empty_) {
    read.then.emplace_back(
        etcd::Get{.range = {.key = keys_.entry(last_), .end = {}}, .keys_only = true});
  }
  client_.commit(std::move(read), executor_.now() + call_timeout,
                 [this](const auto& outcome) { on_outcome_read(outcome); });
}

void Appender::on_outcome_read(const etcd::Outcome<etcd::TransactionDone>& outcome) {
  if (!entry_) return;
  if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) {
    return fail(*failure);
  }
  decide(std::get<etcd::TransactionDone>(outcome));
}

void Appender::decide(const etcd::TransactionDone& seen) {
  CHECK(seen.gets.size() >= 2);
  const std::vector<etcd::KeyValue>& entry = seen.gets[0].keys;
  const std::vector<etcd::KeyValue>& leader = seen.gets[1].keys;
  if (!entry.empty()) {
    if (entry[0].value == entry_->bytes) return commit();
    return lose(fmt::format("another leader has written entry {}", entry_->index));
  }
  if (leader.empty() || leader[0].mod_revision != token_) {
    return lose("another node leads, or this node's lease is over");
  }
  if (!is_empty_ && seen.gets.at(2).keys.empty()) {
    return lose(fmt::format("entry {} was deleted from etcd, and not by its leader", last_));
  }
  retry(&Appender::send);
}

void Appender::retry(void (Appender::*step)()) {
  executor_.after(retry_delay, [this, step] {
    if (entry_) (this->*step)();
  });
}

void Appender::fail(const etcd::Failure& failure) {
  events_.failed(failure);
  const bool is_late = executor_.now() - entry_->begun_at >= append_patience;
  if (is_late) set_waits(failure.error);
  retry(&Appender::read_outcome);
}

void Appender::set_waits(std::optional<etcd::CallError> waits_for) {
  if (std::exchange(waits_, waits_for) != waits_for) events_.waits(waits_for);
}

void Appender::commit() {
  last_ = entry_->index;
  is_empty_ = false;
  const BatchIndex index = entry_->index;
  entry_.reset();
  set_waits(std::nullopt);
  events_.committed(index);
}

void Appender::lose(std::string why) {
  stop();
  events_.lost(std::move(why));
}

}  // namespace perennial::store::cluster
