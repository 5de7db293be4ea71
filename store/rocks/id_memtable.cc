#include "store/rocks/id_memtable.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/memtablerep.h>

#include "store/format/bytes.h"
#include "store/rocks/id_index.h"

namespace perennial::store {
namespace {

using Compare = rocksdb::MemTableRep::KeyComparator;

struct Entry {
  uint64_t id = 0;
  // The complement of the 8 bytes that RocksDB appends to a key: the sequence number, and the kind
  // of the entry in the lowest byte. So the newest entry of an id sorts first.
  uint64_t age = 0;
  const char* bytes = nullptr;  // In the memtable's arena: length, internal key, and the value.
};
using Entries = std::vector<Entry>;

constexpr size_t internal_key_bytes = 16;  // The length before it is a varint, here of one byte.
// AddressSanitizer writes a byte for eight that are reserved, and again when they are given back:
// most of the time that tests of stores took with it.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PERENNIAL_GROWS_MEMTABLES
#endif
#endif
// More than a memtable of tuning.cc holds even if all its entries are tombstones.
#ifdef PERENNIAL_GROWS_MEMTABLES
constexpr size_t entries_usual = 1 << 10;
#else
constexpr size_t entries_usual = 1 << 19;
#endif

bool is_id(std::string_view internal_key) {
  return internal_key.size() == internal_key_bytes;
}

// REQUIRES: is_id().
Entry entry_of(std::string_view internal_key, const char* bytes = nullptr) {
  return {.id = get_big_endian<uint64_t>(internal_key.substr(0, 8)),
          .age = ~get<uint64_t>(internal_key, 8),
          .bytes = bytes};
}

std::string_view internal_key_of(const char* bytes) {
  return rocksdb::GetLengthPrefixedSlice(bytes).ToStringView();
}

std::string_view key_in(std::string_view internal_key) {
  return internal_key.substr(0, internal_key.size() - 8);
}

void sort_by_id(Entries& entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.id != b.id ? a.id < b.id : a.age < b.age;
  });
}

// Returns the first entry whose key is not below `internal_key`.
Entries::const_iterator lower_bound(const Entries& sorted, const Compare& compare,
                                    std::string_view internal_key) {
  return std::lower_bound(sorted.begin(), sorted.end(), rocksdb::Slice(internal_key),
                          [&compare](const Entry& entry, const rocksdb::Slice& sought) {
                            return compare(entry.bytes, sought) < 0;
                          });
}

// Iterates over sorted entries. They belong to the memtable or to the iterator.
class EntryIterator final : public rocksdb::MemTableRep::Iterator {
 public:
  EntryIterator(const Compare& compare, const Entries& shared)
      : compare_(compare), entries_(shared), at_(entries_.size()) {}
  EntryIterator(const Compare& compare, Entries&& own)
      : compare_(compare), own_(std::move(own)), entries_(own_), at_(entries_.size()) {}

  bool Valid() const override { return at_ < entries_.size(); }
  const char* key() const override { return entries_[at_].bytes; }
  void Next() override { ++at_; }
  // Before the first entry the iterator becomes invalid.
  void Prev() override { at_ = at_ == 0 ? entries_.size() : at_ - 1; }
  void SeekToFirst() override { at_ = 0; }
  void SeekToLast() override {
    at_ = entries_.size();
    Prev();
  }
  void Seek(const rocksdb::Slice& internal_key, const char* /*the same with its length*/) override {
    const auto found = lower_bound(entries_, compare_, internal_key.ToStringView());
    at_ = static_cast<size_t>(found - entries_.begin());
  }
  void SeekForPrev(const rocksdb::Slice& internal_key, const char* bytes) override {
    Seek(internal_key, bytes);
    if (!Valid() || compare_(key(), internal_key) > 0) Prev();
  }

 private:
  const Compare& compare_;
  Entries own_;
  const Entries& entries_;
  size_t at_;
};

class IdMemtable final : public rocksdb::MemTableRep {
 public:
  IdMemtable(const Compare& compare, rocksdb::Allocator* allocator, IdMemtableUse use);

  void Insert(rocksdb::KeyHandle handle) override;
  bool Contains(const char* bytes) const override;
  void MarkReadOnly() override;
  // Takes no lock, because the thread that writes calls it and must not wait for a sort.
  size_t ApproximateMemoryUsage() override;
  // Copies the entries of a memtable that is still written to. This is rare, because a server that
  // serves makes no iterators.
  Iterator* GetIterator(rocksdb::Arena* arena) override;
  Iterator* GetDynamicPrefixIterator(rocksdb::Arena* arena) override;

  enum class From : uint8_t { Here, Behind };
  // Returns the newest entry of the same key that is as old as `internal_key` or older; with Behind
  // the newest one that is older. Null: there is none. Thread-safe.
  const char* find(std::string_view internal_key, From from) const;

 private:
  struct alignas(EntryIterator) IteratorSlot {
    std::array<std::byte, sizeof(EntryIterator)> bytes;
  };

  void reserve_usual();
  const char* find_by_id(const Entry& sought, From from) const;
  const char* find_sorted(std::string_view internal_key, From from) const;
  const char* find_anywhere(std::string_view internal_key, From from) const;
  bool fits(const Entry& entry, std::string_view internal_key, From from) const;
  void sort(Entries& entries) const;
  void sort_for_good();

  const Compare& compare_;
  const IdMemtableUse use_;
  std::atomic<size_t> count_ = 0;
  std::atomic<size_t> line_count_ = 0;  // Of the index.
  std::mutex sorting_;  // Lets one thread sort at a time. It is locked before mutex_.

  mutable std::mutex mutex_;  // Guards the members below.
  Entries entries_;
  bool only_ids_ = true;
  // Places in entries_ plus one; zero means none. older_ has for each entry the one that was
  // inserted before it for the same id, and newest_ has the last one of each id. So the entries of
  // an id form a list, and an index costs no allocation for each entry.
  std::vector<uint32_t> older_;
  std::optional<IdIndex> newest_;  // None: the memtable needs no lookups, or is sorted.
  bool read_only_ = false;
  // Is set only when read_only_ is. Then there is no index, and entries_ never changes again.
  bool sorted_ = false;
  std::deque<IteratorSlot> iterator_slots_;  // The memory of iterators; a deque never moves it.
};

// Looks up one key. RocksDB 7.8's MemTableRep::Get makes such an iterator for each call and never
// deletes it. An iterator on the heap would therefore leak at each read of a body. So each thread
// has one slot, a new Lookup is constructed in that slot, and deleting a Lookup does nothing.
class Lookup final : public rocksdb::MemTableRep::Iterator {
 public:
  static Lookup* make(const IdMemtable& table) {
    alignas(Lookup) thread_local std::array<std::byte, sizeof(Lookup)> slot;
    return new (slot.data()) Lookup(table);
  }
  static void* operator new(size_t, void* place) { return place; }
  static void operator delete(void*) {}

  bool Valid() const override { return at_ != nullptr; }
  const char* key() const override { return at_; }
  void Seek(const rocksdb::Slice& internal_key, const char* /*the same with its length*/) override {
    at_ = table_.find(internal_key.ToStringView(), IdMemtable::From::Here);
  }
  // Goes to the next entry of the same key only: RocksDB needs no more of such an iterator.
  void Next() override { at_ = table_.find(internal_key_of(at_), IdMemtable::From::Behind); }
  void Prev() override { at_ = nullptr; }
  void SeekForPrev(const rocksdb::Slice&, const char*) override { at_ = nullptr; }
  void SeekToFirst() override { at_ = nullptr; }
  void SeekToLast() override { at_ = nullptr; }

 private:
  explicit Lookup(const IdMemtable& table) : table_(table) {}

  const IdMemtable& table_;
  const char* at_ = nullptr;
};

IdMemtable::IdMemtable(const Compare& compare, rocksdb::Allocator* allocator, IdMemtableUse use)
    : MemTableRep(allocator), compare_(compare), use_(use) {
  if (use_ == IdMemtableUse::Lookups) newest_.emplace(entries_usual);
}

// Reserved memory that is not touched costs nothing, and growing would copy all entries. Most
// memtables of a store that is only read, and many of one that starts, stay empty.
void IdMemtable::reserve_usual() {
  entries_.reserve(entries_usual);
  if (use_ == IdMemtableUse::Lookups) older_.reserve(entries_usual);
}

void IdMemtable::Insert(rocksdb::KeyHandle handle) {
  const char* const bytes = static_cast<const char*>(handle);
  const std::string_view key = internal_key_of(bytes);
  const bool id = is_id(key);
  const Entry entry = id ? entry_of(key, bytes) : Entry{.bytes = bytes};
  const std::lock_guard lock(mutex_);
  if (entries_.empty()) reserve_usual();
  entries_.push_back(entry);
  count_.store(entries_.size(), std::memory_order_relaxed);
  only_ids_ = only_ids_ && id;
  if (use_ == IdMemtableUse::Lookups) {
    older_.push_back(newest_->exchange(entry.id, static_cast<uint32_t>(entries_.size())));
    line_count_.store(newest_->line_count(), std::memory_order_relaxed);
  }
}

bool IdMemtable::Contains(const char* bytes) const {
  const std::string_view sought = internal_key_of(bytes);
  const char* const found = find(sought, From::Here);
  return found != nullptr && internal_key_of(found) == sought;
}

void IdMemtable::MarkReadOnly() {
  const std::lock_guard lock(mutex_);
  read_only_ = true;
}

size_t IdMemtable::ApproximateMemoryUsage() {
  const size_t each = sizeof(Entry) + (use_ == IdMemtableUse::Lookups ? sizeof(uint32_t) : 0);
  return count_.load(std::memory_order_relaxed) * each +
         line_count_.load(std::memory_order_relaxed) * IdIndex::line_bytes;
}

const char* IdMemtable::find(std::string_view internal_key, From from) const {
  const std::lock_guard lock(mutex_);
  if (sorted_) return find_sorted(internal_key, from);
  const bool indexed = use_ == IdMemtableUse::Lookups && only_ids_ && is_id(internal_key);
  return indexed ? find_by_id(entry_of(internal_key), from) : find_anywhere(internal_key, from);
}

// Follows the list of an id from its newest entry to its oldest.
const char* IdMemtable::find_by_id(const Entry& sought, From from) const {
  const uint64_t age_min = from == From::Here ? sought.age : sought.age + 1;
  uint32_t place = newest_->find(sought.id);
  while (place != 0 && entries_[place - 1].age < age_min) place = older_[place - 1];
  return place == 0 ? nullptr : entries_[place - 1].bytes;
}

const char* IdMemtable::find_sorted(std::string_view internal_key, From from) const {
  auto found = lower_bound(entries_, compare_, internal_key);
  // With Behind, the entry that was found first is the one behind which the search starts.
  if (found != entries_.end() && !fits(*found, internal_key, from)) ++found;
  const bool is_there = found != entries_.end() && fits(*found, internal_key, from);
  return is_there ? found->bytes : nullptr;
}

const char* IdMemtable::find_anywhere(std::string_view internal_key, From from) const {
  const char* found = nullptr;
  for (const Entry& entry : entries_) {
    if (!fits(entry, internal_key, from)) continue;
    if (found == nullptr || compare_(entry.bytes, internal_key_of(found)) < 0) found = entry.bytes;
  }
  return found;
}

bool IdMemtable::fits(const Entry& entry, std::string_view internal_key, From from) const {
  if (key_in(internal_key_of(entry.bytes)) != key_in(internal_key)) return false;
  const int order = compare_(entry.bytes, internal_key);
  return from == From::Here ? order >= 0 : order > 0;
}

void IdMemtable::sort(Entries& entries) const {
  if (only_ids_) return sort_by_id(entries);
  std::sort(entries.begin(), entries.end(),
            [this](const Entry& a, const Entry& b) { return compare_(a.bytes, b.bytes) < 0; });
}

// Sorts a copy, so that lookups can go on in the old entries. Sorting in place would block every
// read of a body for the time of the sort. REQUIRES: read_only_, so that nothing is inserted.
void IdMemtable::sort_for_good() {
  const std::lock_guard sorting(sorting_);
  if (sorted_) return;
  Entries sorted = entries_;
  sort(sorted);
  const std::lock_guard lock(mutex_);
  entries_ = std::move(sorted);
  older_ = {};
  newest_.reset();
  sorted_ = true;
}

rocksdb::MemTableRep::Iterator* IdMemtable::GetIterator(rocksdb::Arena* arena) {
  bool read_only = false;
  {
    const std::lock_guard lock(mutex_);
    read_only = read_only_;
  }
  if (read_only) sort_for_good();
  const std::lock_guard lock(mutex_);
  // With an arena RocksDB never frees the iterator. Its class Arena is not public, so the iterator
  // lies in a slot of the memtable. Iterators keep their memtable alive, and so their slot.
  void* const place = arena != nullptr ? iterator_slots_.emplace_back().bytes.data()
                                       : ::operator new(sizeof(EntryIterator));
  if (sorted_) return new (place) EntryIterator(compare_, entries_);
  Entries copy = entries_;
  sort(copy);
  return new (place) EntryIterator(compare_, std::move(copy));
}

rocksdb::MemTableRep::Iterator* IdMemtable::GetDynamicPrefixIterator(rocksdb::Arena* arena) {
  return arena != nullptr ? GetIterator(arena) : Lookup::make(*this);
}

class IdMemtableFactory final : public rocksdb::MemTableRepFactory {
 public:
  explicit IdMemtableFactory(IdMemtableUse use) : use_(use) {}
  const char* Name() const override { return "perennial.IdMemtable"; }
  using rocksdb::MemTableRepFactory::CreateMemTableRep;
  rocksdb::MemTableRep* CreateMemTableRep(const Compare& compare, rocksdb::Allocator* allocator,
                                          const rocksdb::SliceTransform*,
                                          rocksdb::Logger*) override {
    return new IdMemtable(compare, allocator, use_);
  }

 private:
  const IdMemtableUse use_;
};

}  // namespace

std::shared_ptr<rocksdb::MemTableRepFactory> make_id_memtable_factory(IdMemtableUse use) {
  return std::make_shared<IdMemtableFactory>(use);
}

}  // namespace perennial::store
