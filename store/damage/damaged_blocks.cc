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

constexpr uint8_t single_delete = 7;  // db/dbformat.h there: kTypeSingleDeletion.
constexpr char no_compression = 0;
constexpr size_t restarts_bytes = 2 * sizeof(uint32_t);  // One restart point, and their number.

// Per thread, so that a reader can tell whether one of its own reads has failed below RocksDB,
// whose status does not say which file an error is of.
thread_local uint64_t failed_reads_of_thread = 0;

// A varint of `width` bytes. RocksDB also accepts one that begins with more zeros than it needs.
void append_varint(std::string& out, uint64_t number, size_t width) {
  for (size_t i = 1; i < width; ++i) {
    out += static_cast<char>(number | 0x80);
    number >>= 7;
  }
  out += static_cast<char>(number);
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
    const IOStatus status = substitutes == nullptr
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
          std::memcpy(scratch + (at - begin), content.data() + (at - offset), part);
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

// A data block with one entry and one restart point (RocksDB wiki, "Rocksdb BlockBasedTable
// Format"). It must have exactly as many bytes as the damaged block, because the index says where
// the next one begins. So the value is padded. The varint with its length takes bytes of the block,
// too: its width is chosen first, and then how long the value is.
Result<std::string> make_substitute(uint64_t bytes, std::string_view key, uint64_t sequence) {
  std::string block;
  block.reserve(bytes + block_trailer_bytes);
  const size_t key_bytes = key.size() + sizeof(uint64_t);
  block += '\0';  // Nothing is shared with the key before.
  block += static_cast<char>(key_bytes);
  CHECK(key_bytes < 0x80);
  const size_t used = block.size() + key_bytes + restarts_bytes;  // Without the value's length.
  size_t width = 1;
  while (bytes > used + width && (bytes - used - width) >> (7 * width) != 0) ++width;
  if (bytes < used + width) return Status(StatusCode::InvalidArgument, "the block is too short");
  const uint64_t value_bytes = bytes - used - width;
  append_varint(block, value_bytes, width);
  block += key;
  char number[sizeof(uint64_t)];
  put<uint64_t>(number, sequence << 8 | single_delete);
  block.append(number, sizeof number);
  block.append(value_bytes, '\0');  // A SingleDelete has no value, and nothing looks at this one.
  char restarts[restarts_bytes];
  put<uint32_t>(restarts, 0);
  put<uint32_t>(restarts + sizeof(uint32_t), 1);
  block.append(restarts, sizeof restarts);
  CHECK(block.size() == bytes);
  block += no_compression;
  char checksum[sizeof(uint32_t)];
  put<uint32_t>(checksum, block_checksum(block));
  return block.append(checksum, sizeof checksum);
}

std::string key_between(std::string_view after, uint32_t place) {
  std::string key(after);
  key.resize(std::max(key.size(), sizeof(JobId)) + 1 + sizeof place, '\0');
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
