#include "tests/power_cut/disk.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <sys/stat.h>

#include "engine/types/check.h"

namespace perennial::power_cut {
namespace {

// Writes a change into the content of a file.
void write_into(std::string& content, const FileChange& change) {
  content.resize(change.size_after);
  if (!change.data.empty()) content.replace(change.offset, change.data.size(), change.data);
}

void set_names(Directory& directory, const NameChange& change) {
  for (const auto& [name, node] : change.names) {
    if (node) {
      directory.durable[name] = node;
    } else {
      directory.durable.erase(name);
    }
  }
}

using FilesByNumber = std::map<uint64_t, std::shared_ptr<File>>;

// `files`: those that were read already, by the number of their inode.
std::shared_ptr<Directory> read_directory(const std::filesystem::path& path, FilesByNumber& files) {
  auto out = std::make_shared<Directory>();
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string name = entry.path().filename();
    if (entry.is_directory()) {
      out->names[name] = {.directory = read_directory(entry.path(), files)};
      continue;
    }
    struct stat status = {};
    CHECK(::stat(entry.path().c_str(), &status) == 0);
    std::shared_ptr<File>& file = files[status.st_ino];
    if (file == nullptr) {
      file = std::make_shared<File>();
      std::ifstream stream(entry.path(), std::ios::binary);
      file->first_name = name;
      file->durable.assign(std::istreambuf_iterator<char>(stream), {});
      file->size = file->durable.size();
    }
    out->names[name] = {.file = file};
  }
  out->durable = out->names;
  return out;
}

}  // namespace

Disk Disk::of_directory(Model model, const std::string& path) {
  Disk disk(model);
  FilesByNumber files;
  disk.root_ = read_directory(path, files);
  return disk;
}

void Disk::apply(const Event& event) {
  ++number_;
  const auto handle = handles_.find(event.handle);
  const Node node = handle == handles_.end() ? Node() : handle->second;
  switch (event.kind) {
    case EventKind::Begin:
      handles_.clear();
      syncs_.clear();
      return;
    case EventKind::Create: {
      const Node created = {.file = std::make_shared<File>()};
      created.file->first_name = event.path;
      change(place(event.path), created);
      handles_[event.handle] = created;
      return;
    }
    case EventKind::Open:
      handles_[event.handle] = find(event.path);
      return;
    case EventKind::Close:
      handles_.erase(event.handle);
      return;
    case EventKind::Write:
      CHECK(node.file != nullptr);
      return write(*node.file, event);
    case EventKind::Resize:
      CHECK(node.file != nullptr);
      return resize(*node.file, event.length);
    case EventKind::Allocate:
      CHECK(node.file != nullptr);
      return resize(*node.file, std::max(node.file->size, event.length));
    case EventKind::SyncBegin:
      syncs_[event.offset] = {.node = node, .number = number_};
      return;
    case EventKind::SyncEnd:
      CHECK(syncs_.contains(event.offset));
      synced(syncs_[event.offset]);
      syncs_.erase(event.offset);
      return;
    case EventKind::Rename:
      return rename(event.path, event.data);
    case EventKind::Link:
      return change(place(event.data), find(event.path));
    case EventKind::Remove:
      return change(place(event.path), {});
    case EventKind::MakeDir:
      return change(place(event.path), {.directory = std::make_shared<Directory>()});
    case EventKind::Accept:
    case EventKind::Received:
    case EventKind::Sent:
      return;
  }
}

Disk::Place Disk::place(std::string_view path) const {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return {.directory = root_, .name = std::string(path)};
  const Node parent = find(path.substr(0, slash));
  CHECK(parent.directory != nullptr);
  return {.directory = parent.directory, .name = std::string(path.substr(slash + 1))};
}

Node Disk::find(std::string_view path) const {
  Node found = {.directory = root_};
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    CHECK(found.directory != nullptr);
    const auto name = found.directory->names.find(path.substr(0, slash));
    CHECK(name != found.directory->names.end());
    found = name->second;
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return found;
}

void Disk::change(const Place& place, Node node) {
  if (node) {
    place.directory->names[place.name] = node;
  } else {
    place.directory->names.erase(place.name);
  }
  unsynced_names_.push_back(
      {.number = number_, .directory = place.directory, .names = {{place.name, std::move(node)}}});
}

// Within one directory a rename is one change: both names change, or neither does.
void Disk::rename(std::string_view from, std::string_view to) {
  const Node node = find(from);
  const Place old_place = place(from);
  const Place new_place = place(to);
  change(new_place, node);
  change(old_place, {});
  if (old_place.directory != new_place.directory) return;
  auto& names = unsynced_names_[unsynced_names_.size() - 2].names;
  names.push_back(unsynced_names_.back().names.front());
  unsynced_names_.pop_back();
}

void Disk::write(File& file, const Event& event) {
  file.size = std::max(file.size, event.offset + event.data.size());
  file.unsynced.push_back(
      {.number = number_, .offset = event.offset, .data = event.data, .size_after = file.size});
}

void Disk::resize(File& file, uint64_t size) {
  if (size == file.size) return;
  file.size = size;
  file.unsynced.push_back({.number = number_, .offset = size, .data = {}, .size_after = size});
}

bool Disk::lies_about(const Node& node) const {
  if (number_ < lies_from_) return false;
  if (lie_ == Lie::DirectorySyncs) return node.directory != nullptr;
  return lie_ == Lie::TableSyncs && node.file != nullptr && node.file->first_name.ends_with(".sst");
}

void Disk::synced(const Sync& sync) {
  if (lies_about(sync.node)) return;
  if (sync.node.directory != nullptr) {
    names_synced(model_ == Model::Strict ? sync.node.directory.get() : nullptr, sync.number);
    return;
  }
  File& file = *sync.node.file;
  const bool grows = file.durable.size() != file.size;
  const bool is_new = std::ranges::any_of(unsynced_names_, [&](const NameChange& change) {
    return change.number < sync.number && change.names.front().second.file.get() == &file;
  });
  uint64_t until = sync.number;
  const bool holds_back =
      lie_ == Lie::LastLogSync && number_ >= lies_from_ && file.first_name.ends_with(".log");
  if (holds_back) std::swap(until, file.held_back);
  file_synced(file, until);
  if (model_ == Model::Journal && (grows || is_new)) names_synced(nullptr, sync.number);
}

void Disk::file_synced(File& file, uint64_t until) {
  const auto end = std::ranges::find_if(
      file.unsynced, [&](const FileChange& change) { return change.number > until; });
  for (auto change = file.unsynced.begin(); change != end; ++change) {
    write_into(file.durable, *change);
  }
  file.unsynced.erase(file.unsynced.begin(), end);
}

void Disk::names_synced(const Directory* only, uint64_t until) {
  std::erase_if(unsynced_names_, [&](const NameChange& change) {
    if (change.number > until || (only != nullptr && change.directory.get() != only)) return false;
    set_names(*change.directory, change);
    return true;
  });
}

}  // namespace perennial::power_cut
