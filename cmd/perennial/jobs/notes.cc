#include "cmd/perennial/jobs/notes.h"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/common/characters.h"

namespace perennial::tool {

Result<std::vector<wire::ToldNote>> ask_notes(ServerConnection& server, JobId id) {
  const Result<wire::ClientReply> reply = server.ask(ListNotes{id});
  if (!reply.ok()) return reply.status();
  if (reply->is(Word::NotFound) || reply->is(Word::UnknownCommand))
    return std::vector<wire::ToldNote>();
  if (!reply->is(Word::Ok)) return unexpected(*reply, "list-notes");
  std::optional<std::vector<wire::ToldNote>> notes = wire::parse_notes(reply->text);
  if (!notes) return Status(StatusCode::Io, "the server sent notes that are none");
  return *std::move(notes);
}

std::string notes_text(const std::vector<wire::ToldNote>& notes) {
  std::string out;
  for (const wire::ToldNote& note : notes) {
    const std::string user = note.user.empty() ? "" : ", by " + common::printable_line(note.user);
    out += fmt::format("note {}, {}, attempt {}{}\n{}", note.number, note.time, note.attempt, user,
                       common::printable(note.text));
    if (!out.ends_with('\n')) out += '\n';
  }
  return out;
}

std::string newest_line(const std::vector<wire::ToldNote>& notes) {
  if (notes.empty()) return {};
  std::string_view text = notes.back().text;
  while (text.ends_with('\n')) text.remove_suffix(1);
  const std::string first = common::printable_line(text.substr(0, text.find('\n')));
  const size_t last = text.rfind('\n');
  if (last == std::string_view::npos) return first;
  return first + ": " + common::printable_line(text.substr(last + 1));
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
