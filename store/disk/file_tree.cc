#include "store/disk/file_tree.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "store/disk/hash.h"
#include "store/types/file_system_of.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

constexpr size_t piece_bytes = 1 << 20;

Status outcome(const rocksdb::Status& status, std::string_view doing, const std::string& path) {
  if (status.ok()) return {};
  return from_rocksdb(status).with(std::string(doing) + " " + path);
}

}  // namespace

FileTree::FileTree(rocksdb::Env* env) : fs_(file_system_of(env)) {}

Result<bool> FileTree::exists(const std::string& path) const {
  const rocksdb::IOStatus status = fs_.FileExists(path, {}, nullptr);
  if (status.ok()) return true;
  if (status.IsNotFound()) return false;
  return outcome(status, "look for", path);
}

Result<std::vector<std::string>> FileTree::list(const std::string& dir) const {
  std::vector<std::string> names;
  const rocksdb::IOStatus listed = fs_.GetChildren(dir, {}, &names, nullptr);
  if (!listed.ok()) return outcome(listed, "read directory", dir);
  std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
  std::ranges::sort(names);
  return names;
}

Result<uint64_t> FileTree::size_of(const std::string& path) const {
  uint64_t bytes = 0;
  const rocksdb::IOStatus asked = fs_.GetFileSize(path, {}, &bytes, nullptr);
  if (!asked.ok()) return outcome(asked, "look at", path);
  return bytes;
}

Status FileTree::make_dir(const std::string& path) const {
  return outcome(fs_.CreateDir(path, {}, nullptr), "make directory", path);
}

Status FileTree::read_pieces(const std::string& path, const Cancelled& cancelled,
                             const std::function<Status(std::string_view)>& take) const {
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  const rocksdb::IOStatus opened = fs_.NewSequentialFile(path, {}, &file, nullptr);
  if (!opened.ok()) return outcome(opened, "open", path);
  std::string buffer(piece_bytes, '\0');
  while (true) {
    if (cancelled && cancelled()) return {StatusCode::Io, "cancelled while reading " + path};
    rocksdb::Slice piece;
    const rocksdb::IOStatus got = file->Read(buffer.size(), {}, &piece, buffer.data(), nullptr);
    if (!got.ok()) return outcome(got, "read", path);
    if (piece.empty()) return {};
    Status taken = take({piece.data(), piece.size()});
    if (!taken.ok()) return taken;
  }
}

Result<std::string> FileTree::read(const std::string& path) const {
  std::string content;
  Status done = read_pieces(path, {}, [&](std::string_view piece) {
    content += piece;
    return Status();
  });
  if (!done.ok()) return done;
  return content;
}

Result<std::string> FileTree::hash(const std::string& path, const Cancelled& cancelled,
                                   const Progress& progress) const {
  Hasher hasher;
  Status done = read_pieces(path, cancelled, [&](std::string_view piece) {
    hasher.add(piece);
    if (progress) progress(piece.size());
    return Status();
  });
  if (!done.ok()) return done;
  return hasher.hex();
}

Status FileTree::write(const std::string& path, std::string_view bytes) const {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  rocksdb::IOStatus status = fs_.NewWritableFile(path, {}, &file, nullptr);
  if (status.ok()) status = file->Append({bytes.data(), bytes.size()}, {}, nullptr);
  if (status.ok()) status = file->Fsync({}, nullptr);
  if (status.ok()) status = file->Close({}, nullptr);
  return outcome(status, "write", path);
}

Status FileTree::copy(const std::string& from, const std::string& to, uint64_t bytes_max) const {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  const rocksdb::IOStatus made = fs_.NewWritableFile(to, {}, &file, nullptr);
  if (!made.ok()) return outcome(made, "make", to);
  uint64_t bytes_left = bytes_max;
  Status copied = read_pieces(from, {}, [&](std::string_view piece) {
    piece = piece.substr(0, bytes_left);
    bytes_left -= piece.size();
    return outcome(file->Append({piece.data(), piece.size()}, {}, nullptr), "write", to);
  });
  if (!copied.ok()) return copied;
  rocksdb::IOStatus status = file->Fsync({}, nullptr);
  if (status.ok()) status = file->Close({}, nullptr);
  return outcome(status, "sync", to);
}

// Opens the file anew, because whoever wrote it has closed it: fsync(2) makes all written bytes of
// a file durable, through whichever descriptor they were written.
Status FileTree::sync(const std::string& path) const {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  rocksdb::IOStatus status = fs_.ReopenWritableFile(path, {}, &file, nullptr);
  if (status.ok()) status = file->Fsync({}, nullptr);
  if (status.ok()) status = file->Close({}, nullptr);
  return outcome(status, "sync", path);
}

Status FileTree::link(const std::string& from, const std::string& to) const {
  return outcome(fs_.LinkFile(from, to, {}, nullptr), "link", to);
}

Status FileTree::rename(const std::string& from, const std::string& to) const {
  return outcome(fs_.RenameFile(from, to, {}, nullptr), "rename", from);
}

Status FileTree::sync_dir(const std::string& path) const {
  std::unique_ptr<rocksdb::FSDirectory> directory;
  rocksdb::IOStatus status = fs_.NewDirectory(path, {}, &directory, nullptr);
  if (status.ok()) status = directory->Fsync({}, nullptr);
  return outcome(status, "sync directory", path);
}

// After a failed sync it is unknown which name a power cut would leave. The file is renamed back,
// so that the caller finds it under its old name and can remove it.
Status FileTree::publish(const std::string& from, const std::string& to) const {
  if (Status renamed = rename(from, to); !renamed.ok()) return renamed;
  Status synced = sync_dir(parent_of(to));
  if (!synced.ok()) ignore(rename(to, from), "there is a failure to report already");
  return synced;
}

Status FileTree::remove(const std::string& path) const {
  // For a symbolic link, the link is removed and its target stays.
  std::error_code gone;
  if (std::filesystem::is_symlink(path, gone)) {
    return outcome(fs_.DeleteFile(path, {}, nullptr), "remove", path);
  }
  bool is_dir = false;
  const rocksdb::IOStatus asked = fs_.IsDirectory(path, {}, &is_dir, nullptr);
  if (asked.IsNotFound() || asked.IsPathNotFound()) return {};
  if (!asked.ok()) return outcome(asked, "look at", path);
  if (!is_dir) return outcome(fs_.DeleteFile(path, {}, nullptr), "remove", path);
  const Result<std::vector<std::string>> names = list(path);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (Status removed = remove(path + "/" + name); !removed.ok()) return removed;
  }
  return outcome(fs_.DeleteDir(path, {}, nullptr), "remove directory", path);
}

std::string parent_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).lexically_normal().parent_path();
  return parent.empty() ? "." : parent.string();
}

}  // namespace perennial::store
