#include "cmd/perenniald/cluster/checkpoint_fetch.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "cmd/perenniald/cluster/http_download.h"
#include "engine/types/check.h"
#include "store/checkpoint/checkpoint.h"
#include "store/disk/data_dir.h"
#include "store/disk/file_tree.h"

namespace perennial::perenniald {
namespace {

constexpr std::string_view manifest_file = "manifest.json";
constexpr std::string_view db_prefix = "db/";
// A manifest has a line for each tube and each file.
constexpr int64_t manifest_bytes_max = 64 << 20;

Status unwanted(const std::string& what) {
  return {StatusCode::Corruption, what};
}

// A file that is written from its begin to its end.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path)
      : path_(path),
        fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)) {}
  ~OutputFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  Status opened() const { return fd_ >= 0 ? Status() : store::from_errno(errno, "make " + path_); }
  Status write(const char* bytes, size_t count) const {
    while (count > 0) {
      const ssize_t written = ::write(fd_, bytes, count);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return store::from_errno(errno, "write " + path_);
      bytes += written;
      count -= static_cast<size_t>(written);
    }
    return {};
  }
  Status sync() const {
    return ::fsync(fd_) == 0 ? Status() : store::from_errno(errno, "sync " + path_);
  }

 private:
  const std::string path_;
  const int fd_;
};

// The entries of a tar that is being downloaded.
class Fetch {
 public:
  explicit Fetch(const FetchOptions& options)
      : options_(options), download_(options), tar_(archive_read_new(), archive_read_free) {
    CHECK(tar_ != nullptr);
    CHECK(archive_read_support_format_tar(tar_.get()) == ARCHIVE_OK);
  }

  Status run() {
    if (archive_read_open(tar_.get(), this, nullptr, on_read, nullptr) != ARCHIVE_OK) {
      return failure("the begin");
    }
    while (true) {
      archive_entry* entry = nullptr;
      const int found = archive_read_next_header(tar_.get(), &entry);
      if (found == ARCHIVE_EOF) break;
      if (found != ARCHIVE_OK) return failure("an entry");
      if (Status done = take(*entry); !done.ok()) return done;
    }
    if (!wanted_.empty() || !has_manifest_) {
      return unwanted("what was sent is not the whole checkpoint");
    }
    Status done = tree_.sync_dir(options_.to + "/db");
    if (done.ok()) done = tree_.sync_dir(options_.to);
    return done;
  }

 private:
  static la_ssize_t on_read(archive* tar, void* context, const void** bytes) {
    auto& fetch = *static_cast<Fetch*>(context);
    Result<std::string_view> got = fetch.download_.next();
    if (!got.ok()) {
      fetch.broken_ = got.take_status();
      archive_set_error(tar, EIO, "%s", fetch.broken_.message().c_str());
      return -1;
    }
    *bytes = got->data();
    return static_cast<la_ssize_t>(got->size());
  }

  // What ended the download, or else what is wrong with the tar.
  Status failure(const std::string& where) const {
    if (!broken_.ok()) return broken_;
    const char* const text = archive_error_string(tar_.get());
    return unwanted(fmt::format("{}: {}", where, text == nullptr ? "no tar" : text));
  }

  Status take(archive_entry& entry) {
    const char* const pathname = archive_entry_pathname(&entry);
    const std::string name = pathname == nullptr ? "" : pathname;
    const bool is_file = archive_entry_filetype(&entry) == AE_IFREG &&
                         archive_entry_hardlink(&entry) == nullptr &&
                         archive_entry_symlink(&entry) == nullptr;
    if (!is_file) return unwanted(fmt::format("'{}' is no file", name));
    if (!archive_entry_size_is_set(&entry)) return unwanted(fmt::format("'{}' has no size", name));
    const int64_t bytes = archive_entry_size(&entry);
    if (!has_manifest_) return take_manifest(name, bytes);
    const auto wanted = wanted_.find({name, bytes});
    if (wanted == wanted_.end()) {
      return unwanted(
          fmt::format("'{}' of {} bytes is not in the manifest, or comes twice", name, bytes));
    }
    wanted_.erase(wanted);
    return write(name, bytes);
  }

  Status take_manifest(const std::string& name, int64_t bytes) {
    if (name != manifest_file) return unwanted(fmt::format("'{}' comes before the manifest", name));
    if (bytes > manifest_bytes_max) return unwanted("the manifest is too large");
    if (Status written = write(name, bytes); !written.ok()) return written;
    const Result<store::CheckpointManifest> manifest = store::read_checkpoint(options_.to);
    if (!manifest.ok()) return manifest.status();
    for (const store::CheckpointFile& file : manifest->files) {
      // A name with a slash would lead out of the directory.
      if (file.name.empty() || file.name.find('/') != std::string::npos || file.name == "." ||
          file.name == "..") {
        return unwanted(fmt::format("the manifest lists '{}'", file.name));
      }
      wanted_.insert({std::string(db_prefix) + file.name, static_cast<int64_t>(file.bytes)});
    }
    has_manifest_ = true;
    return {};
  }

  // The next `bytes` of the tar. The name was checked.
  Status write(const std::string& name, int64_t bytes) {
    const OutputFile file(options_.to + "/" + name);
    if (Status opened = file.opened(); !opened.ok()) return opened;
    int64_t written = 0;
    while (true) {
      const void* piece = nullptr;
      size_t count = 0;
      int64_t offset = 0;
      const int read = archive_read_data_block(tar_.get(), &piece, &count, &offset);
      if (read == ARCHIVE_EOF) break;
      if (read != ARCHIVE_OK) return failure(name);
      if (offset != written || static_cast<int64_t>(count) > bytes - written) {
        return unwanted(fmt::format("'{}' has holes, or is longer than it says", name));
      }
      if (Status done = file.write(static_cast<const char*>(piece), count); !done.ok()) return done;
      written += static_cast<int64_t>(count);
    }
    if (written != bytes) return unwanted(fmt::format("'{}' is not whole", name));
    return file.sync();
  }

  const FetchOptions& options_;
  const store::FileTree tree_{nullptr};
  HttpDownload download_;
  const std::unique_ptr<archive, int (*)(archive*)> tar_;
  Status broken_;
  bool has_manifest_ = false;
  std::set<std::pair<std::string, int64_t>> wanted_;  // By name and size; those that have not come.
};

}  // namespace

Status fetch_checkpoint(const FetchOptions& options) {
  const store::FileTree tree(nullptr);
  Status done = tree.make_dir(options.to);
  if (!done.ok()) return done;
  done = tree.make_dir(options.to + "/db");
  if (done.ok()) done = Fetch(options).run();
  if (!done.ok()) ignore(tree.remove(options.to), "there is a failure to report already");
  return std::move(done).with("get " + options.url);
}

}  // namespace perennial::perenniald
