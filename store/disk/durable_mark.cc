#include "store/disk/durable_mark.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "store/disk/file_tree.h"
#include "store/types/file_system_of.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

using rocksdb::IOStatus;
using rocksdb::Slice;

// Each slot has its own block of the disk, so that no write touches both.
constexpr uint64_t slot_bytes = 4096;
constexpr uint64_t slot_count = 2;

std::string mark_path(const std::string& data_dir) {
  return data_dir + "/durable";
}

}  // namespace

// Writes a new file and renames it. Writing both slots in place instead could tear both. Both get
// the sequence number 0, which is right: they hold the same mark.
Result<std::unique_ptr<DurableMarkFile>> DurableMarkFile::create(rocksdb::Env* env,
                                                                 const std::string& data_dir,
                                                                 const DurableMark& mark) {
  const FileTree tree(env);
  const std::string path = mark_path(data_dir);
  std::string bytes(slot_count * slot_bytes, '\0');
  for (uint64_t slot = 0; slot < slot_count; ++slot) {
    bytes.replace(slot * slot_bytes, durable_mark_bytes, view(encode(mark, 0)));
  }
  if (Status written = tree.write(path + ".new", bytes); !written.ok()) return written;
  if (Status renamed = tree.rename(path + ".new", path); !renamed.ok()) return renamed;
  if (Status synced = tree.sync_dir(data_dir); !synced.ok()) return synced;
  std::unique_ptr<rocksdb::FSRandomRWFile> file;
  const IOStatus opened = file_system_of(env).NewRandomRWFile(path, {}, &file, nullptr);
  if (!opened.ok()) return from_rocksdb(opened).with("open " + path);
  return std::unique_ptr<DurableMarkFile>(new DurableMarkFile(std::move(file), mark));
}

DurableMarkFile::DurableMarkFile(std::unique_ptr<rocksdb::FSRandomRWFile> file,
                                 const DurableMark& mark)
    : file_(std::move(file)), last_(mark) {}

DurableMarkFile::~DurableMarkFile() {
  file_->Close({}, nullptr).PermitUncheckedError();
}

Status DurableMarkFile::write(const DurableMark& mark) {
  if (mark == last_) return {};
  if (Status written = write_slot(mark); !written.ok()) return written;
  last_ = mark;
  is_in_both_ = false;
  return {};
}

Status DurableMarkFile::write_slot(const DurableMark& mark) {
  const Bytes<durable_mark_bytes> slot = encode(mark, ++sequence_);
  const IOStatus written =
      file_->Write(slot_ * slot_bytes, Slice(slot.data(), slot.size()), {}, nullptr);
  if (!written.ok()) return from_rocksdb(written).with("write the durable mark");
  is_synced_ = false;
  return {};
}

Status DurableMarkFile::sync() {
  if (is_synced_ && is_in_both_) return {};
  if (is_synced_) {  // Idle: the mark goes to the other slot, too.
    if (Status copied = write_slot(last_); !copied.ok()) return copied;
    is_in_both_ = true;
  }
  const IOStatus synced = file_->Sync({}, nullptr);
  if (!synced.ok()) return from_rocksdb(synced).with("sync the durable mark");
  is_synced_ = true;
  // The slot that was just synced must not be written before the other one is synced, too: a power
  // cut may tear the slot that is being written, and then this one counts.
  slot_ = (slot_ + 1) % slot_count;
  return {};
}

namespace {

struct Slot {
  DurableMark mark;
  uint64_t sequence = 0;
};

std::optional<Slot> decode_slot(std::string_view bytes) {
  Slot slot;
  const std::optional<DurableMark> mark = decode_durable_mark(bytes, slot.sequence);
  if (!mark) return std::nullopt;
  slot.mark = *mark;
  return slot;
}

// Finds the slot that differs from this one in one byte. The hash of 64 bits says whether it is
// right: that one of 16,320 attempts fits by chance need not be feared.
std::optional<Slot> mend_slot(std::string_view bytes) {
  std::string attempt(bytes);
  for (size_t at = 0; at < attempt.size(); ++at) {
    for (int difference = 1; difference < 256; ++difference) {
      attempt[at] = static_cast<char>(bytes[at] ^ difference);
      if (std::optional<Slot> slot = decode_slot(attempt)) return slot;
    }
    attempt[at] = bytes[at];
  }
  return std::nullopt;
}

std::string damage_of(uint64_t at, bool is_mended) {
  return fmt::format("the slot at byte {} of durable is damaged{}", at,
                     is_mended ? ", in one byte" : " and cannot be read");
}

}  // namespace

Result<std::optional<DurableMark>> read_durable_mark(rocksdb::Env* env, const std::string& data_dir,
                                                     std::string* damage) {
  if (damage != nullptr) damage->clear();
  const FileTree tree(env);
  const std::string path = mark_path(data_dir);
  const Result<bool> is_there = tree.exists(path);
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) return std::optional<DurableMark>();
  const Result<std::string> read = tree.read(path);
  if (!read.ok()) return read.status();
  const std::string_view bytes = *read;
  std::optional<Slot> newest;
  for (uint64_t at = 0; at < bytes.size() && bytes.size() == slot_count * slot_bytes;
       at += slot_bytes) {
    const std::string_view slot_at = bytes.substr(at, durable_mark_bytes);
    std::optional<Slot> slot = decode_slot(slot_at);
    if (!slot) {
      slot = mend_slot(slot_at);
      if (damage != nullptr) *damage = damage_of(at, slot.has_value());
    }
    if (slot && (!newest || slot->sequence >= newest->sequence)) newest = slot;
  }
  if (newest) return std::optional(newest->mark);
  return Status(StatusCode::Corruption,
                path + " is damaged, which says how far the log must reach");
}

}  // namespace perennial::store
