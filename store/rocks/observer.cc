#include "store/rocks/observer.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rocksdb/env.h>
#include <rocksdb/listener.h>

#include "engine/types/logfmt.h"
#include "store/damage/containment.h"
#include "store/format/format.h"
#include "store/space/compaction_guard.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

// Whether a warning of RocksDB belongs to normal operation, and is not passed on.
bool is_usual(std::string_view message) {
  // RocksDB logs this each second while a compaction waits for space.
  if (message.find("Compaction too large") != std::string_view::npos) return true;
  // The guard has stopped a compaction: compact.cc reports it.
  if (message.find(too_little_space) != std::string_view::npos) return true;
  // RocksDB logs this twice for every checkpoint, whose files it must keep while they are copied.
  return message.find("File Deletions ") != std::string_view::npos;
}

class EventLogger : public rocksdb::Logger {
 public:
  explicit EventLogger(const Events& events)
      : Logger(rocksdb::InfoLogLevel::WARN_LEVEL), events_(events) {}

  void LogHeader(const char* /*format*/, va_list /*arguments*/) override {}

  using Logger::Logv;
  void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (level < rocksdb::InfoLogLevel::WARN_LEVEL || level >= rocksdb::InfoLogLevel::HEADER_LEVEL) {
      return;
    }
    if (!events_.info) return;
    std::array<char, 1024> text = {};
    std::vsnprintf(text.data(), text.size(), format, arguments);
    if (is_usual(text.data())) return;
    const bool is_warning = level == rocksdb::InfoLogLevel::WARN_LEVEL;
    events_.info("store.rocksdb",
                 fmt::format("severity={} message={}", is_warning ? "warning" : "error",
                             logfmt_text(text.data())));
  }

 private:
  const Events& events_;  // The store's, which outlives its database.
};

class FailureListener : public rocksdb::EventListener {
 public:
  FailureListener(StoreFailure& failure, std::shared_ptr<CompactionGuard> guard,
                  Containment* containment)
      : failure_(failure), guard_(std::move(guard)), containment_(containment) {}

  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override {
    const bool is_compaction = reason == rocksdb::BackgroundErrorReason::kCompaction;
    if (is_compaction && (is_stopped_compaction(*error) || Containment::forgives(*error))) {
      *error = rocksdb::Status::OK();
    } else {
      failure_.fail(from_rocksdb(*error).with("in the background"));
    }
  }
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason /*reason*/, rocksdb::Status /*error*/,
                            bool* auto_recovery) override {
    // RocksDB's recovery can leave a database that does not open: RocksDB issues 7784 and 11643.
    *auto_recovery = false;
  }

  // RocksDB calls the next two before OnBackgroundError, and on the same thread.
  void OnCompactionBegin(rocksdb::DB* /*db*/, const rocksdb::CompactionJobInfo& job) override {
    Containment::begin_compaction(is_loaded(job.cf_name) ? nullptr : containment_);
  }
  void OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo& job) override {
    if (job.status.ok() || containment_ == nullptr) return;
    std::vector<uint64_t> tables;
    for (const auto& input : job.input_file_infos) tables.push_back(input.file_number);
    containment_->end_failed_compaction(*db, job.status, tables);
  }

  void OnTableFileCreationStarted(const rocksdb::TableFileCreationBriefInfo& table) override {
    const bool is_output = table.reason == rocksdb::TableFileCreationReason::kCompaction;
    if (is_output && guard_ != nullptr) guard_->on_output(table.file_path);
  }

 private:
  StoreFailure& failure_;  // The store's, which outlives its database.
  const std::shared_ptr<CompactionGuard> guard_;
  Containment* const containment_;
};

}  // namespace

std::shared_ptr<rocksdb::Logger> make_logger(const Events& events) {
  return std::make_shared<EventLogger>(events);
}

std::shared_ptr<rocksdb::EventListener> make_listener(StoreFailure& failure,
                                                      std::shared_ptr<CompactionGuard> guard,
                                                      Containment* containment) {
  return std::make_shared<FailureListener>(failure, std::move(guard), containment);
}

}  // namespace perennial::store
