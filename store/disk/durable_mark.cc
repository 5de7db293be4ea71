#include "store/disk/durable_mark.h"

#include <string_view>
#include <utility>

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

// Writes a new file and renames it. Writing both slots in place instead could tear both.
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
  const Bytes<durable_mark_bytes> slot = encode(mark, ++sequence_);
  const IOStatus written =
      file_->Write(slot_ * slot_bytes, Slice(slot.data(), slot.size()), {}, nullptr);
  if (!written.ok()) return from_rocksdb(written).with("write the durable mark");
  last_ = mark;
  is_synced_ = false;
  return {};
}

Status DurableMarkFile::sync() {
  if (is_synced_) return {};
  const IOStatus synced = file_->Sync({}, nullptr);
  if (!synced.ok()) return from_rocksdb(synced).with("sync the durable mark");
  is_synced_ = true;
  slot_ = (slot_ + 1) % slot_count;
  return {};
}

Result<std::optional<DurableMark>> read_durable_mark(rocksdb::Env* env,
                                                     const std::string& data_dir) {
  const FileTree tree(env);
  const std::string path = mark_path(data_dir);
  const Result<bool> is_there = tree.exists(path);
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) return std::optional<DurableMark>();
  const Result<std::string> read = tree.read(path);
  if (!read.ok()) return read.status();
  const std::string_view bytes = *read;
  std::optional<DurableMark> newest;
  uint64_t newest_sequence = 0;
  for (uint64_t slot = 0; slot < slot_count && bytes.size() == slot_count * slot_bytes; ++slot) {
    uint64_t sequence = 0;
    const std::optional<DurableMark> mark =
        decode_durable_mark(bytes.substr(slot * slot_bytes, durable_mark_bytes), sequence);
    if (!mark || (newest && sequence < newest_sequence)) continue;
    newest = mark;
    newest_sequence = sequence;
  }
  if (newest) return newest;
  return Status(StatusCode::Corruption,
                path + " is damaged, which says how far the log must reach");
}

}  // namespace perennial::store
