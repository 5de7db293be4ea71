#pragma once

#include <memory>

#include "store/types/options.h"
#include "store/types/store_failure.h"

namespace rocksdb {
class EventListener;
class Logger;
}  // namespace rocksdb

// The logger and the listener that RocksDB calls.
namespace perennial::store {

class CompactionGuard;
class Containment;

// Makes a logger that passes warnings and errors on as events. RocksDB's own LOG file is not used,
// because its writer aborts the process when the disk is full.
std::shared_ptr<rocksdb::Logger> make_logger(const Events& events);

// Makes a listener that turns every background error into a failure, and disables RocksDB's own
// error recovery. A compaction that the guard has stopped is no failure: it is tried again when
// more space is free. Nor is one that has met damage which is contained. The guard may be null;
// otherwise it is called for each table of a compaction. So may `containment`, which outlives the
// listener.
std::shared_ptr<rocksdb::EventListener> make_listener(
    StoreFailure& failure, std::shared_ptr<CompactionGuard> guard = nullptr,
    Containment* containment = nullptr);

}  // namespace perennial::store
