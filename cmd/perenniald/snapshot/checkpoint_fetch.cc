#include "cmd/perenniald/snapshot/checkpoint_fetch.h"

#include <algorithm>
#include <cerrno>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include "cmd/perenniald/snapshot/http_download.h"
#include "engine/types/check.h"
#include "store/checkpoint/checkpoint_manifest.h"
#include "store/disk/file_tree.h"
#include "store/disk/identity.h"

namespace perennial::perenniald {
namespace {

constexpr std::string_view manifest_file = "manifest.json";
constexpr std::string_view db_prefix = "db/";
// A manifest has a line for each tube and each file.
constexpr int64_t manifest_bytes_max = 64 << 20;

using store::CheckpointFile;
using store::CheckpointManifest;

Status unwanted(const std::string& what) {
  return {StatusCode::Corruption, what};
}

// A name with a slash would lead out of the directory. With the identity of the other database this
// node would pass for the other one: a start makes a new identity.
bool is_file_of_a_copy(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name != "." && name != ".." &&
         name != store::identity_file;
}

// The entries of a tar that is being downloaded.
class Fetch {
 public:
  explicit Fetch(const FetchOptions& options)
      : options_(options), download_(options), tar_(archive_read_new(), archive_read_free) {
    CHECK(tar_ != nullptr);
    CHECK(archive_read_support_format_tar(tar_.get()) == ARCHIVE_OK);
  }

  Result<FetchedCheckpoint> run() {
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
    if (!whole_) return unwanted("what was sent is not the whole checkpoint");
    return FetchedCheckpoint{.manifest = *std::move(whole_), .files = std::move(files_)};
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
    if (!listed_) return take_list(name, bytes);
    if (whole_) return unwanted(fmt::format("'{}' comes after the end", name));
    if (name == manifest_file) return take_hashes(bytes);
    return take_file(name, bytes);
  }

  Status take_list(const std::string& name, int64_t bytes) {
    if (name != manifest_file) return unwanted(fmt::format("'{}' comes before the manifest", name));
    Result<CheckpointManifest> manifest = read_manifest(bytes);
    if (!manifest.ok()) return manifest.take_status();
    if (manifest->format > store::format_version) {
      return {StatusCode::Unsupported,
              fmt::format("the other node has format {}, which only a newer program reads: version "
                          "{} runs there",
                          manifest->format, manifest->server_version)};
    }
    listed_ = manifest.take();
    bytes_ = listed_->bytes();
    for (CheckpointFile& file : listed_->files) {
      const bool is_new = wanted_.insert({std::string(db_prefix) + file.name, &file}).second;
      if (is_new && is_file_of_a_copy(file.name)) continue;
      return unwanted(fmt::format("the manifest lists '{}'", file.name));
    }
    return {};
  }

  Status take_file(const std::string& name, int64_t bytes) {
    const auto wanted = wanted_.find(name);
    if (wanted == wanted_.end() || wanted->second->bytes != static_cast<uint64_t>(bytes)) {
      return unwanted(
          fmt::format("'{}' of {} bytes is not in the manifest, or comes twice", name, bytes));
    }
    CheckpointFile& file = *wanted->second;
    wanted_.erase(wanted);
    if (Status begun = files_.begin(options_.to + "/" + name); !begun.ok()) return begun;
    const auto write = [this](std::string_view piece) {
      received_ += piece.size();
      if (options_.progress) options_.progress(received_, bytes_);
      return files_.write(piece);
    };
    if (Status written = read_entry(name, bytes, write); !written.ok()) return written;
    file.hash = files_.finish();
    return begin_check(options_.to + "/" + name);
  }

  // The checksums of a file are read while the next one comes, and while the kernel still has it in
  // memory.
  Status begin_check(const std::string& path) {
    if (Status whole = end_check(); !whole.ok()) return whole;
    check_ = std::async(std::launch::async, [path] {
      return store::verify_database_file(path).with("what has come of " + path);
    });
    return {};
  }
  Status end_check() { return check_.valid() ? check_.get() : Status(); }

  // The manifest as it was, and with the hashes that the other node has sent.
  Status take_hashes(int64_t bytes) {
    if (!wanted_.empty()) {
      return unwanted(fmt::format("'{}' has not come", wanted_.begin()->first));
    }
    if (Status whole = end_check(); !whole.ok()) return whole;
    Result<CheckpointManifest> manifest = read_manifest(bytes);
    if (!manifest.ok()) return manifest.take_status();
    const std::vector<CheckpointFile>& files = listed_->files;
    for (size_t i = 0; i < std::min(files.size(), manifest->files.size()); ++i) {
      const CheckpointFile& sent = manifest->files[i];
      if (sent.name != files[i].name || sent.hash == files[i].hash) continue;
      return unwanted(fmt::format("{}{} is damaged: its hash is another than at the other node",
                                  db_prefix, sent.name));
    }
    if (render(*manifest) != render(*listed_)) {
      return unwanted("the manifest at the end is of another checkpoint");
    }
    whole_ = manifest.take();
    return {};
  }

  Result<CheckpointManifest> read_manifest(int64_t bytes) {
    if (bytes > manifest_bytes_max) return unwanted("the manifest is too large");
    std::string text;
    Status read = read_entry(std::string(manifest_file), bytes, [&](std::string_view piece) {
      text += piece;
      return Status();
    });
    if (!read.ok()) return read;
    return store::parse_manifest(text);
  }

  // Gives the content of the next entry to `use`. Its name was checked.
  template <typename Use>
  Status read_entry(const std::string& name, int64_t bytes, const Use& use) {
    int64_t taken = 0;
    while (true) {
      const void* piece = nullptr;
      size_t count = 0;
      int64_t offset = 0;
      const int read = archive_read_data_block(tar_.get(), &piece, &count, &offset);
      if (read == ARCHIVE_EOF) break;
      if (read != ARCHIVE_OK) return failure(name);
      if (offset != taken || static_cast<int64_t>(count) > bytes - taken) {
        return unwanted(fmt::format("'{}' has holes, or is longer than it says", name));
      }
      Status used = use(std::string_view(static_cast<const char*>(piece), count));
      if (!used.ok()) return used;
      taken += static_cast<int64_t>(count);
    }
    return taken == bytes ? Status() : unwanted(fmt::format("'{}' is not whole", name));
  }

  const FetchOptions& options_;
  HttpDownload download_;
  const std::unique_ptr<archive, int (*)(archive*)> tar_;
  Status broken_;
  CopiedFiles files_;
  // The manifest that came first. Its hashes are of what has come since.
  std::optional<CheckpointManifest> listed_;
  std::map<std::string, CheckpointFile*> wanted_;  // Files of it that have not come, by name.
  std::optional<CheckpointManifest> whole_;        // The manifest that came last.
  std::future<Status> check_;                      // Of the file that came last.
  uint64_t bytes_ = 0;                             // Of all files,
  uint64_t received_ = 0;                          // and of what has come.
};

}  // namespace

Result<FetchedCheckpoint> fetch_checkpoint(const FetchOptions& options) {
  const store::FileTree tree(nullptr);
  const std::string doing = "get " + options.url;
  Status made = tree.make_dir(options.to);
  if (made.ok()) made = tree.make_dir(options.to + "/db");
  if (!made.ok()) return std::move(made).with(doing);
  Result<FetchedCheckpoint> fetched = Fetch(options).run();
  if (fetched.ok()) return fetched;
  ignore(tree.remove(options.to), "there is a failure to report already");
  return fetched.take_status().with(doing);
}

}  // namespace perennial::perenniald
