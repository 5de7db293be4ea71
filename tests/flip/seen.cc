#include "tests/flip/seen.h"

#include <sstream>
#include <string>

#include <fmt/format.h>

#include "store/reader.h"
#include "tests/store/dir_state.h"

namespace perennial::store {
namespace {

// Whether all ids of `some` are among those of `all`. A store reads past a damaged block in which a
// newer table might have had the deletion of a body; a Reader finds that body damaged, too.
bool are_among(const std::string& some, const std::string& all) {
  std::istringstream words(some);
  const std::string known = " " + all;
  for (std::string id; words >> id;) {
    if (known.find(" " + id + " ") == std::string::npos) return false;
  }
  return true;
}

// The ids of ended jobs that only one of two images has.
std::string ended_difference(const Image& seen, const Image& wanted) {
  std::string out;
  for (const auto& [id, job] : seen.ended) {
    if (!wanted.ended.contains(id)) out += fmt::format("{} too many ", id);
  }
  for (const auto& [id, job] : wanted.ended) {
    if (!seen.ended.contains(id)) out += fmt::format("{} missing ", id);
  }
  return out;
}

std::string read_bodies(const Reader& reader, const Image& image) {
  std::string damaged;
  Reader::Bodies bodies = reader.bodies();
  for (const auto& [id, row] : image.jobs) {
    const Result<std::string_view> body = bodies.read(id);
    if (!body.ok() || *body != body_of(id)) damaged += fmt::format("{} ", id);
  }
  return damaged;
}

// The reason without the prefix, since a start and a reader each name their operation and the
// directory first, and a start the table, whose blocks it reads before it opens the database.
std::string_view reason(std::string_view message) {
  const size_t begin = message.find("Corruption: ");
  if (begin != std::string_view::npos) return message.substr(begin);
  const size_t end = message.find(": ");
  return end == std::string_view::npos ? message : message.substr(end + 2);
}

// A start compacts in the background and may read what a reader does not: a body, or a block in
// which every row is deleted. store/rocks/observer.cc words the message.
bool is_of_compaction(const Status& refused) {
  return refused.code() == StatusCode::Corruption &&
         refused.message().find("in the background: ") != std::string::npos;
}

}  // namespace

Seen look_at(const std::string& path, rocksdb::Env* env) {
  const auto before = state_of(path);
  Seen seen;
  {
    const Result<std::unique_ptr<Reader>> reader = Reader::open({.path = path, .env = env});
    if (reader.ok()) {
      seen.commit = (*reader)->commit();
      seen.next_id = (*reader)->next_id();
      seen.image = read_image(**reader, seen.missing);
      if (seen.image.ok()) seen.damaged_bodies = read_bodies(**reader, *seen.image);
    } else {
      seen.opened = reader.status();
    }
  }
  seen.has_changed = before != state_of(path);
  return seen;
}

std::string difference(const Seen& seen, const Opening& opening, const Result<Image>& found,
                       const std::string& damaged_bodies, const EndedLost& lost) {
  if (seen.has_changed) return "the reader has changed the directory";
  if (!seen.opened.ok()) return "only the reader refuses: " + seen.opened.message();
  if (seen.commit.index != opening.last_index || seen.commit.epoch + 1 != opening.epoch) {
    return fmt::format("the reader sees commit {}", seen.commit.index);
  }
  if (seen.next_id != opening.next_id) return fmt::format("the reader's next id {}", seen.next_id);
  if (!seen.image.ok() && found.ok()) {
    return "only the reader refuses: " + seen.image.status().message();
  }
  if (!seen.image.ok() || !found.ok()) return "";
  Image wanted = *found;
  wanted.ended.insert(lost.with_row.begin(), lost.with_row.end());
  if (*seen.image != wanted) {
    return "the reader sees other rows; of ended jobs " + ended_difference(*seen.image, wanted);
  }
  // It says that ended jobs are missing if a block of them is damaged, and only then.
  if (lost.table.empty() != seen.missing.ok()) {
    return "what the reader says is missing: " + seen.missing.message();
  }
  if (seen.missing.message().find(lost.table) == std::string::npos) {
    return "the reader does not name the table: " + seen.missing.message();
  }
  if (are_among(damaged_bodies, seen.damaged_bodies)) return "";
  return fmt::format("the reader finds damaged: {}; and the start: {}", seen.damaged_bodies,
                     damaged_bodies);
}

std::string difference(const Seen& seen, const Status& refused) {
  if (seen.has_changed) return "the reader has changed the directory";
  if (seen.opened.ok() && is_of_compaction(refused)) return "";
  // A start reads jobs that have ended before it serves, a reader when it is asked for them.
  const Status& later = seen.image.ok() ? seen.missing : seen.image.status();
  const bool is_seen_later =
      seen.opened.ok() && !later.ok() && reason(later.message()) == reason(refused.message());
  if (is_seen_later) return "";
  if (seen.opened.ok()) return "only the start refuses: " + refused.message();
  if (reason(seen.opened.message()) == reason(refused.message())) return "";
  return "the reader refuses with: " + seen.opened.message();
}

}  // namespace perennial::store
