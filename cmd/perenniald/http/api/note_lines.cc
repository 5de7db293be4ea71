#include "cmd/perenniald/http/api/note_lines.h"

#include <optional>
#include <utility>

#include "engine/types/check.h"
#include "wire/client.h"

namespace perennial::http {
namespace {

constexpr std::string_view traceback = "Traceback (most recent call last):";

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view space = " \t\r";
  const size_t begin = line.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(space) - begin + 1);
}

// Not within a character.
std::string cut(std::string_view line) {
  if (line.size() <= NoteLines::line_bytes_max) return std::string(line);
  size_t end = NoteLines::line_bytes_max;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0u) == 0x80u) --end;
  return std::string(line.substr(0, end));
}

}  // namespace

bool fits_line(std::string_view wanted, std::string_view line) {
  if (wanted == line) return true;
  return wanted.ends_with('*') && line.starts_with(wanted.substr(0, wanted.size() - 1));
}

void set_lines(NoteLines& note, std::string_view text) {
  std::string_view first;
  std::string_view last;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    if (first.empty()) first = line;
    last = line;
  }
  note.last_line = cut(last);
  note.line = first == traceback ? note.last_line : cut(first);
}

Json json_of(const NoteLines& note) {
  if (note.number == 0) return nullptr;
  return {{"number", note.number}, {"time", note.time}, {"attempt", note.attempt},
          {"user", note.user},     {"line", note.line}, {"last_line", note.last_line}};
}

const NoteLines* NoteCache::find(JobId job, uint32_t number) const {
  const auto found = notes_.find(job);
  return found != notes_.end() && found->second.number == number ? &found->second : nullptr;
}

void NoteCache::keep(JobId job, NoteLines note) {
  const auto [place, is_new] = notes_.insert_or_assign(job, std::move(note));
  if (!is_new) return;
  order_.push_back(job);
  if (notes_.size() <= notes_max) return;
  notes_.erase(order_.front());
  order_.pop_front();
}

void NoteReader::begin(const std::vector<JobStats>& jobs, const std::function<void()>& wake) {
  CHECK(is_done());
  CHECK(jobs.size() <= jobs_max);
  read_.clear();
  client_.reset();
  for (const JobStats& job : jobs) {
    const uint32_t number = notes_of(job);
    if (number == 0) continue;
    if (const NoteLines* const kept = cache_.find(job.id, number)) {
      read_[job.id] = *kept;
      continue;
    }
    if (client_ == nullptr) client_ = queue_.open(rights_, wake);
    client_->send(ListNotes{.id = job.id});
    asked_.push_back(job.id);
  }
}

bool NoteReader::step() {
  while (!asked_.empty()) {
    const std::optional<wire::ClientReply> reply = client_->take();
    if (!reply) {
      if (!client_->is_closed()) return false;
      asked_.clear();
      break;
    }
    const JobId job = asked_.front();
    asked_.pop_front();
    const auto notes =
        reply->is(Word::Ok) ? wire::parse_notes(reply->text) : std::nullopt;  // Or it is gone.
    if (!notes || notes->empty()) continue;
    const wire::ToldNote& newest = notes->back();
    NoteLines lines = {.number = newest.number,
                       .attempt = newest.attempt,
                       .time = newest.time,
                       .user = newest.user};
    set_lines(lines, newest.text);
    cache_.keep(job, lines);
    read_[job] = std::move(lines);
  }
  client_.reset();
  return true;
}

const NoteLines& NoteReader::of(JobId job) const {
  static const NoteLines none;
  const auto found = read_.find(job);
  return found != read_.end() ? found->second : none;
}

}  // namespace perennial::http
