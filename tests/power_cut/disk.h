#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/power_cut/recording.h"

// What a disk has been told by a recording, and what of it must survive a power cut.
namespace perennial::power_cut {

// How a file system treats names. README.md of tests, "Power cuts".
enum class Model : uint8_t {
  // POSIX: only a sync of the directory makes a change of a name durable. Of the changes without
  // one any may be lost, each for itself.
  Strict,
  // ext4, xfs: a journal. Any sync that has to write sizes or names makes all earlier changes of
  // names durable, in every directory, and of the others those up to some moment survive.
  Journal,
};

// A fault that is planted in the disk, from some event on.
enum class Lie : uint8_t {
  None,
  LastLogSync,     // The last sync of each log file is forgotten.
  TableSyncs,      // Tables are never synced.
  DirectorySyncs,  // Directories are never synced.
};

// A change of a file that no sync covers.
struct FileChange {
  uint64_t number;  // Of the event.
  uint64_t offset;
  std::string_view data;
  uint64_t size_after;
};

struct File {
  std::string first_name = {};
  std::string durable = {};  // What is on the disk for certain.
  uint64_t size = 0;         // In the kernel.
  std::vector<FileChange> unsynced = {};
  uint64_t held_back = 0;  // For Lie::LastLogSync: the event up to which the last sync reached.
};

struct Directory;

// What a name stands for. Neither: there is no such name.
struct Node {
  std::shared_ptr<File> file = {};
  std::shared_ptr<Directory> directory = {};

  explicit operator bool() const { return file != nullptr || directory != nullptr; }
};

struct Directory {
  std::map<std::string, Node, std::less<>> durable;
  std::map<std::string, Node, std::less<>> names;  // In the kernel.
};

// A change of one directory that no sync covers.
struct NameChange {
  uint64_t number;  // Of the event.
  std::shared_ptr<Directory> directory;
  std::vector<std::pair<std::string, Node>> names;
};

class Disk {
 public:
  explicit Disk(Model model, Lie lie = Lie::None, uint64_t lies_from = 0)
      : model_(model), lie_(lie), lies_from_(lies_from) {}

  Disk(Disk&&) = default;
  Disk& operator=(Disk&&) = delete;
  // A disk that has everything that is in a directory, durably.
  static Disk of_directory(Model model, const std::string& path);

  // Takes the next event.
  void apply(const Event& event);
  uint64_t events() const { return number_; }

  Model model() const { return model_; }
  const std::shared_ptr<Directory>& root() const { return root_; }
  // In their order.
  const std::vector<NameChange>& unsynced_names() const { return unsynced_names_; }

 private:
  struct Place {
    std::shared_ptr<Directory> directory;
    std::string name;
  };
  struct Sync {
    Node node;
    uint64_t number;  // Of its SyncBegin.
  };

  Place place(std::string_view path) const;
  Node find(std::string_view path) const;
  void change(const Place& place, Node node);
  void rename(std::string_view from, std::string_view to);
  void write(File& file, const Event& event);
  void resize(File& file, uint64_t size);
  void synced(const Sync& sync);
  void file_synced(File& file, uint64_t until);
  void names_synced(const Directory* only, uint64_t until);
  bool lies_about(const Node& node) const;

  Model model_;
  Lie lie_;
  uint64_t lies_from_;
  uint64_t number_ = 0;
  std::shared_ptr<Directory> root_ = std::make_shared<Directory>();
  std::vector<NameChange> unsynced_names_;
  std::map<uint32_t, Node> handles_;
  std::map<uint64_t, Sync> syncs_;
};

}  // namespace perennial::power_cut
