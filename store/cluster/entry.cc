#include "store/cluster/entry.h"

#include <cstddef>

#include <xxhash.h>

#include "store/batch/batch_codec.h"
#include "store/format/bytes.h"

namespace perennial::store::cluster {
namespace {

constexpr size_t previous_at = 8;
constexpr size_t batch_at = 16;
constexpr size_t hash_bytes = 8;

}  // namespace

uint64_t hash_of_entry(std::string_view entry) {
  return entry.size() < hash_bytes ? 0 : get<uint64_t>(entry, entry.size() - hash_bytes);
}

std::string chain_entry(std::string_view batch, uint64_t previous) {
  Bytes<batch_at> head = {};
  put(head.data(), chained_entry_format);
  put(head.data() + previous_at, previous);
  std::string out;
  out.reserve(batch_at + batch.size() + hash_bytes);
  out += view(head);
  out += batch;
  Bytes<hash_bytes> hash;
  put(hash.data(), XXH3_64bits(out.data(), out.size()));
  out += view(hash);
  return out;
}

Result<Entry> open_entry(std::string_view entry) {
  if (entry.empty() || static_cast<uint8_t>(entry[0]) != chained_entry_format) {
    return Entry{.previous = 0, .batch = entry};
  }
  const auto damaged = [](const char* what) { return Status(StatusCode::Corruption, what); };
  if (entry.size() < batch_at + hash_bytes) return damaged("it is too short");
  const std::string_view hashed = entry.substr(0, entry.size() - hash_bytes);
  if (hash_of_entry(entry) != XXH3_64bits(hashed.data(), hashed.size())) {
    return damaged("its hash does not fit");
  }
  if (!all_zero(hashed.substr(1, previous_at - 1))) return damaged("unused bytes are not zero");
  return Entry{.previous = get<uint64_t>(hashed, previous_at), .batch = hashed.substr(batch_at)};
}

Result<Batch> decode_entry(std::string_view entry) {
  const Result<Entry> opened = open_entry(entry);
  if (!opened.ok()) return opened.status();
  return decode_batch(opened->batch);
}

}  // namespace perennial::store::cluster
