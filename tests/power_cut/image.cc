#include "tests/power_cut/image.h"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::power_cut {
namespace {

constexpr uint64_t sector_bytes = 512;

// What survives of the changes that no sync covers.
enum class Fate : uint8_t {
  None,       // Nothing.
  All,        // Everything.
  Until,      // What was written up to a moment; the last write is torn.
  Sectors,    // Each sector for itself.
  OneLost,    // All but one write.
  OneSector,  // All but one sector.
};
constexpr std::array fate_names = {"none", "all", "until", "sectors", "one-lost", "one-sector"};

// How a file's sectors that were never written look, if the file has grown past them.
enum class Hole : uint8_t { Zeros, Garbage };

// Draws what survives of one file, or of all files together.
struct Draw {
  Fate fate = Fate::None;
  uint64_t moment = 0;     // For Until: the number of the torn event.
  uint32_t kept_of_8 = 4;  // For Sectors.
  Hole hole = Hole::Zeros;

  std::string text() const {
    std::string out = fate_names[static_cast<size_t>(fate)];
    if (fate == Fate::Until) out += fmt::format(" {}", moment);
    if (fate == Fate::Sectors) out += fmt::format(" {}/8", kept_of_8);
    return out + (hole == Hole::Garbage ? " garbage" : "");
  }
};

Draw draw(const Disk& disk, std::mt19937_64& random) {
  constexpr std::array<uint32_t, 3> shares = {1, 4, 7};
  // What no sync covers is recent.
  const uint64_t back = random() % 3 == 0 ? 200 : 20;
  return {.fate = static_cast<Fate>(random() % fate_names.size()),
          .moment = disk.events() - std::min(disk.events(), random() % back),
          .kept_of_8 = shares[random() % shares.size()],
          .hole = disk.model() == Model::Strict && random() % 4 == 0 ? Hole::Garbage : Hole::Zeros};
}

// The content that survives of one file.
class Survivor {
 public:
  Survivor(const File& file, const Draw& draw, std::mt19937_64& random)
      : file_(file), draw_(draw), random_(random) {
    if (!file.unsynced.empty()) lost_change_ = random() % file.unsynced.size();
  }

  std::string content() {
    std::string out = file_.durable;
    for (size_t i = 0; i < file_.unsynced.size(); ++i) take(file_.unsynced[i], i, out);
    const uint64_t size = draw_size();
    if (out.size() < size && draw_.hole == Hole::Garbage) {
      while (out.size() < size) out += static_cast<char>(random_());
    }
    out.resize(size);
    return out;
  }

 private:
  // A sector is written as a whole, as it was at some moment: once a change of it is lost, so are
  // the later ones.
  void take(const FileChange& change, size_t index, std::string& out) {
    const bool shrinks = change.size_after < out.size();
    if (shrinks && keeps(change, index, 0, 0)) out.resize(change.size_after);
    const uint64_t end = change.offset + change.data.size();
    const uint64_t lost_sector =
        change.data.empty()
            ? 0
            : change.offset / sector_bytes +
                  random_() % ((end - 1) / sector_bytes - change.offset / sector_bytes + 1);
    for (uint64_t from = change.offset; from < end;) {
      const uint64_t sector = from / sector_bytes;
      const uint64_t to = std::min(end, (sector + 1) * sector_bytes);
      const bool stale = stale_.contains(sector);
      if (!stale && keeps(change, index, sector, lost_sector)) {
        fill_to(out, from);
        if (out.size() < to) out.resize(to);
        out.replace(from, to - from, change.data.substr(from - change.offset, to - from));
      } else {
        stale_.insert(sector);
      }
      from = to;
    }
  }

  void fill_to(std::string& out, uint64_t size) {
    while (out.size() < size) {
      out += draw_.hole == Hole::Garbage ? static_cast<char>(random_()) : '\0';
    }
  }

  bool keeps(const FileChange& change, size_t index, uint64_t sector, uint64_t lost_sector) {
    switch (draw_.fate) {
      case Fate::None:
        return false;
      case Fate::All:
        return true;
      case Fate::Until:
        if (change.number == draw_.moment) return random_() % 2 == 0;
        return change.number < draw_.moment;
      case Fate::Sectors:
        return random_() % 8 < draw_.kept_of_8;
      case Fate::OneLost:
        return index != lost_change_;
      case Fate::OneSector:
        return index != lost_change_ || sector != lost_sector;
    }
    return true;
  }

  // The size in the inode is written apart from the bytes.
  uint64_t draw_size() {
    uint64_t least = file_.durable.size();
    uint64_t most = least;
    uint64_t until = least;
    for (const FileChange& change : file_.unsynced) {
      least = std::min(least, change.size_after);
      most = std::max(most, change.size_after);
      if (change.number <= draw_.moment) until = change.size_after;
    }
    if (draw_.fate == Fate::None) return file_.durable.size();
    if (draw_.fate == Fate::Until) return until;
    if (draw_.fate != Fate::Sectors || random_() % 2 == 0) return file_.size;
    if (random_() % 4 == 0) return file_.durable.size();
    return least + random_() % (most - least + 1);
  }

  const File& file_;
  const Draw& draw_;
  std::mt19937_64& random_;
  size_t lost_change_ = 0;
  std::unordered_set<uint64_t> stale_;
};

// Whether each change of a name survives, in their order.
std::vector<bool> draw_names(const Disk& disk, const Draw& drawn, std::mt19937_64& random) {
  const std::vector<NameChange>& changes = disk.unsynced_names();
  std::vector<bool> kept(changes.size());
  const uint64_t lost = changes.empty() ? 0 : random() % changes.size();
  // A journal keeps what was changed up to a moment.
  const uint64_t moment = drawn.fate == Fate::Until  ? drawn.moment
                          : drawn.fate == Fate::None ? 0
                          : drawn.fate == Fate::All || changes.empty()
                              ? disk.events()
                              : changes[lost].number - random() % 2;
  for (size_t i = 0; i < changes.size(); ++i) {
    const bool in_time = changes[i].number <= moment;
    if (disk.model() == Model::Journal || drawn.fate < Fate::Sectors) {
      kept[i] = in_time;
    } else {
      kept[i] = drawn.fate == Fate::Sectors ? random() % 8 < drawn.kept_of_8 : i != lost;
    }
  }
  return kept;
}

using Names = std::map<std::string, Node, std::less<>>;
using NamesOf = std::function<Names(const Directory&)>;
using ContentOf = std::function<std::string(const File&)>;

// Writes a directory with all that is in it.
class Writer {
 public:
  Writer(NamesOf names_of, ContentOf content_of)
      : names_of_(std::move(names_of)), content_of_(std::move(content_of)) {}

  void write(const Directory& directory, const std::string& path) {
    for (const auto& [name, node] : names_of_(directory)) {
      const std::string below = path + "/" + name;
      if (node.file != nullptr) write_file(*node.file, below);
      if (node.directory == nullptr) continue;
      CHECK(::mkdir(below.c_str(), 0700) == 0);
      write(*node.directory, below);
    }
  }

 private:
  void write_file(const File& file, const std::string& path) {
    const auto [known, is_new] = written_.emplace(&file, path);
    if (!is_new) {
      CHECK(::link(known->second.c_str(), path.c_str()) == 0);
      return;
    }
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    const std::string content = content_of_(file);
    CHECK(::write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
    ::close(fd);
  }

  const NamesOf names_of_;
  const ContentOf content_of_;
  std::unordered_map<const File*, std::string> written_;
};

}  // namespace

std::string write_image(const Disk& disk, std::mt19937_64& random, const std::string& path) {
  const Draw common = draw(disk, random);
  const bool each_for_itself = random() % 3 == 0;
  const std::vector<bool> kept = draw_names(disk, common, random);
  const auto names_of = [&](const Directory& directory) {
    Names names = directory.durable;
    for (size_t i = 0; i < kept.size(); ++i) {
      const NameChange& change = disk.unsynced_names()[i];
      if (!kept[i] || change.directory.get() != &directory) continue;
      for (const auto& [name, node] : change.names) {
        if (node) {
          names[name] = node;
        } else {
          names.erase(name);
        }
      }
    }
    return names;
  };
  const auto content_of = [&](const File& file) {
    const Draw drawn = each_for_itself ? draw(disk, random) : common;
    return Survivor(file, drawn, random).content();
  };
  Writer(names_of, content_of).write(*disk.root(), path);
  return (disk.model() == Model::Strict ? "strict, " : "journal, ") + common.text() +
         (each_for_itself ? ", each file for itself" : "");
}

void write_whole(const Disk& disk, const std::string& path) {
  const auto content_of = [](const File& file) {
    std::string out = file.durable;
    for (const FileChange& change : file.unsynced) {
      out.resize(change.size_after);
      if (!change.data.empty()) out.replace(change.offset, change.data.size(), change.data);
    }
    return out;
  };
  Writer([](const Directory& directory) { return directory.names; }, content_of)
      .write(*disk.root(), path);
}

}  // namespace perennial::power_cut
