#include "cmd/perennial/jobs/notes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/common/characters.h"
#include "cmd/perennial/output/readable.h"
#include "engine/types/note.h"

namespace perennial::tool {

// INTERNAL_ERROR: the disk cannot be read where the notes may be.
Result<std::optional<std::vector<wire::ToldNote>>> ask_notes(ServerConnection& server, JobId id) {
  using Told = std::optional<std::vector<wire::ToldNote>>;
  const Result<wire::ClientReply> reply = server.ask(ListNotes{id});
  if (!reply.ok()) return reply.status();
  if (reply->is(Word::NotFound) || reply->is(Word::UnknownCommand)) return Told();
  if (reply->is(Word::InternalError)) return Told(std::vector<wire::ToldNote>());
  if (!reply->is(Word::Ok)) return unexpected(*reply, "list-notes");
  Told notes = wire::parse_notes(reply->text);
  if (!notes) return Status(StatusCode::Io, "the server sent notes that are none");
  return notes;
}

// A note that was written meanwhile counts, too.
std::vector<uint32_t> missing_notes(const std::vector<wire::ToldNote>& notes, uint64_t had) {
  const uint32_t newest = notes.empty() ? 0 : notes.back().number;
  const uint32_t last = std::max(static_cast<uint32_t>(had), newest);
  std::vector<uint32_t> out;
  for (uint32_t number = last - notes_kept(last) + 1; number <= last; ++number) {
    if (std::ranges::find(notes, number, &wire::ToldNote::number) == notes.end()) {
      out.push_back(number);
    }
  }
  return out;
}

std::string notes_text(const std::vector<wire::ToldNote>& notes,
                       const std::vector<uint32_t>& missing) {
  std::string out;
  auto lost = missing.begin();
  const auto add_missing = [&](uint64_t before) {
    for (; lost != missing.end() && *lost < before; ++lost) {
      out += fmt::format("note {}: missing (damaged on disk)\n", *lost);
    }
  };
  for (const wire::ToldNote& note : notes) {
    add_missing(note.number);
    const std::string user = note.user.empty() ? "" : ", by " + common::printable_line(note.user);
    out += fmt::format("note {}, {}, attempt {}{}\n{}", note.number, note.time, note.attempt, user,
                       common::printable(note.text));
    if (!out.ends_with('\n')) out += '\n';
  }
  add_missing(UINT64_MAX);
  return out;
}

std::string note_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::string line = common::printable_line(text.substr(0, text.find('\n')));
  if (const size_t last = text.rfind('\n'); last != std::string_view::npos)
    line += ": " + common::printable_line(text.substr(last + 1));
  return truncate(line, note_line_columns_max);
}

nlohmann::ordered_json notes_json(const std::vector<wire::ToldNote>& notes) {
  auto out = nlohmann::ordered_json::array();
  for (const wire::ToldNote& note : notes) {
    out.push_back({{"number", note.number},
                   {"time", note.time},
                   {"attempt", note.attempt},
                   {"user", note.user},
                   {"text", note.text}});
  }
  return out;
}

}  // namespace perennial::tool
