#include "store/damage/damaged_blocks.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "engine/types/check.h"
#include "store/damage/table_blocks.h"
#include "store/format/bytes.h"
#include "store/format/format.h"

namespace perennial::store {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// db/dbformat.h there: kTypeDeletion, kTypeSingleDeletion.
constexpr uint8_t plain_delete = 0;
constexpr uint8_t single_delete = 7;
constexpr char no_compression = 0;
constexpr size_t restart_bytes = sizeof(uint32_t);

// Per thread, so that a reader can tell whether one of its own reads has failed below RocksDB,
// whose status does not say which file an error is of.
thread_local uint64_t failed_reads_of_thread = 0;

// The varint 0 in `width` bytes. RocksDB also accepts one that has more bytes than it needs.
void append_zero(std::string& out, size_t width) {
  out.append(width - 1, static_cast<char>(0x80));
  out += '\0';
}

// A table's file whose damaged blocks read as their substitutes.
class SubstitutingFile : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  SubstitutingFile(const DamagedBlocks& blocks, uint64_t table,
                   std::unique_ptr<rocksdb::FSRandomAccessFile> file)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), blocks_(blocks), table_(table) {}

  IOStatus Read(uint64_t offset, size_t bytes, const IOOptions& options, Slice* got, char* scratch,
                IODebugContext* debug) const override {
    const std::shared_ptr<const Substitutes> substitutes = blocks_.of(table_);
    IOStatus status = substitutes == nullptr
                          ? target()->Read(offset, bytes, options, got, scratch, debug)
                          : read(*substitutes, offset, bytes, options, got, scratch, debug);
    if (!status.ok()) ++failed_reads_of_thread;
    return status;
  }
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count, const IOOptions& options,
                     IODebugContext* debug) override {
    for (size_t i = 0; i < count; ++i) {
      rocksdb::FSReadRequest& one = requests[i];
      one.status = Read(one.offset, one.len, options, &one.result, one.scratch, debug);
    }
    return IOStatus::OK();
  }
  // The base's implementation calls Read() of this class. The wrapper's would pass substitutes by.
  IOStatus ReadAsync(rocksdb::FSReadRequest& request, const IOOptions& options,
                     std::function<void(const rocksdb::FSReadRequest&, void*)> done, void* argument,
                     void** handle, rocksdb::IOHandleDeleter* deleter,
                     IODebugContext* debug) override {
    // NOLINTNEXTLINE(bugprone-parent-virtual-call)
    return FSRandomAccessFile::ReadAsync(request, options, std::move(done), argument, handle,
                                         deleter, debug);
  }

 private:
  // Reads what lies between substitutes from the file, and nothing of what they replace: the disk
  // may be unable to read it.
  IOStatus read(const Substitutes& substitutes, uint64_t begin, size_t bytes,
                const IOOptions& options, Slice* got, char* scratch, IODebugContext* debug) const {
    const uint64_t end = begin + bytes;
    uint64_t at = begin;
    *got = Slice(scratch, 0);
    while (at < end) {
      auto next = substitutes.upper_bound(at);
      if (next != substitutes.begin()) {
        const auto& [offset, content] = *std::prev(next);
        if (at < offset + content.size()) {
          const uint64_t part = std::min(end, offset + content.size()) - at;
          content.copy(scratch + (at - begin), part, at - offset);
          at += part;
          continue;
        }
      }
      const uint64_t stop = next == substitutes.end() ? end : std::min(end, next->first);
      Slice part;
      char* const into = scratch + (at - begin);
      IOStatus status = target()->Read(at, stop - at, options, &part, into, debug);
      if (!status.ok()) return status;
      if (part.data() != into) std::memmove(into, part.data(), part.size());
      at += part.size();
      if (part.size() < stop - (at - part.size())) break;  // The end of the file.
    }
    *got = Slice(scratch, at - begin);
    return IOStatus::OK();
  }

  const DamagedBlocks& blocks_;
  const uint64_t table_;
};

}  // namespace

// A data block with one entry (RocksDB wiki, "Rocksdb BlockBasedTable Format"). It must have
// exactly as many bytes as the damaged block, because the index says where the next one begins. So
// it has as many restart points as fit, all at the entry, and what is left are bytes of the varint
// with the length of the value. The value is empty, as that of a deletion always is: a compaction
// that keeps a deletion before an older version of its key looks at its value when it has given
// back the block (CompactionIterator::NextFromInput).
Result<std::string> make_substitute(Family family, uint64_t bytes, std::string_view key,
                                    uint64_t sequence) {
  std::string block;
  block.reserve(bytes + block_trailer_bytes);
  const size_t key_bytes = key.size() + sizeof(uint64_t);
  block += '\0';  // Nothing is shared with the key before.
  add_varint(block, key_bytes);
  // With a length of one byte, one restart point, and their number.
  const size_t least = block.size() + 1 + key_bytes + 2 * restart_bytes;
  if (bytes < least) return Status(StatusCode::InvalidArgument, "the block is too short");
  append_zero(block, 1 + (bytes - least) % restart_bytes);
  block += key;
  char number[sizeof(uint64_t)];
  put<uint64_t>(number, sequence << 8 | (is_overwritten(family) ? plain_delete : single_delete));
  block.append(number, sizeof number);
  const uint64_t restarts = 1 + (bytes - least) / restart_bytes;
  block.append(restarts * restart_bytes, '\0');
  char restart_count[restart_bytes];
  put<uint32_t>(restart_count, static_cast<uint32_t>(restarts));
  block.append(restart_count, sizeof restart_count);
  CHECK(block.size() == bytes);
  block += no_compression;
  char checksum[sizeof(uint32_t)];
  put<uint32_t>(checksum, block_checksum(block));
  return block.append(checksum, sizeof checksum);
}

std::string key_between(Family family, std::string_view after, uint32_t place) {
  std::string key(after);
  key.resize(std::max(key.size(), key_bytes_of(family, after)) + 1 + sizeof place, '\0');
  put_big_endian<uint32_t>(key.data() + key.size() - sizeof place, place);
  return key;
}

void DamagedBlocks::add(uint64_t table, Substitutes substitutes) {
  const std::lock_guard lock(mutex_);
  // Readers may hold the former map, so it is replaced and never changed.
  std::shared_ptr<const Substitutes>& known = tables_[table];
  if (known != nullptr) substitutes.insert(known->begin(), known->end());
  known = std::make_shared<const Substitutes>(std::move(substitutes));
  any_.store(true, std::memory_order_release);
}

void DamagedBlocks::forget(uint64_t table) {
  if (!any_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  tables_.erase(table);
  any_.store(!tables_.empty(), std::memory_order_release);
}

std::shared_ptr<const Substitutes> DamagedBlocks::of(uint64_t table) const {
  if (!any_.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = tables_.find(table);
  return found == tables_.end() ? nullptr : found->second;
}

uint64_t DamagedBlocks::failed_reads() {
  return failed_reads_of_thread;
}

std::unique_ptr<rocksdb::FSRandomAccessFile> DamagedBlocks::wrap(
    uint64_t table, std::unique_ptr<rocksdb::FSRandomAccessFile> file) {
  return std::make_unique<SubstitutingFile>(*this, table, std::move(file));
}

}  // namespace perennial::store
