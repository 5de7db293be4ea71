#include <algorithm>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/perennial/dump/dump_format.h"
#include "cmd/perennial/dump/dump_parser.h"
#include "engine/types/check.h"
#include "store/format/format.h"
#include "tests/fuzz/targets.h"
#include "wire/command_line.h"

namespace perennial::fuzz {
namespace {

// Returns what a writer of dumps writes.
template <typename Write>
std::string written(const Write& write) {
  const int fd = memfd_create("dump", MFD_CLOEXEC);
  CHECK(fd >= 0);
  tool::Output out(fd);
  tool::DumpWriter writer(out, tool::DumpWriter::Syntax::Json);
  write(writer);
  CHECK(out.finish().ok());
  std::string text(static_cast<size_t>(lseek(fd, 0, SEEK_END)), '\0');
  CHECK(pread(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  close(fd);
  CHECK(text.ends_with('\n'));
  text.pop_back();
  return text;
}

template <typename Value>
bool parses(const Result<Value>& value) {
  if (value.ok()) return true;
  CHECK(!value.status().message().empty());
  return false;
}

void check_header(std::string_view line) {
  Result<tool::DumpHeader> header = tool::parse_header(line);
  if (!parses(header)) return;
  // Version 1 is read and not written.
  header->version = std::max(header->version, tool::dump_version_of_1_0);
  CHECK(store::problem(header->commit).empty());
  for (const std::string& name : header->tubes) CHECK(wire::is_tube_name(name));
  const auto write = [](const tool::DumpHeader& what) {
    return written([&](tool::DumpWriter& writer) { writer.header(what); });
  };
  const std::string text = write(*header);
  const Result<tool::DumpHeader> again = tool::parse_header(text);
  CHECK(again.ok());
  CHECK(write(*again) == text);
}

void check_job(std::string_view line, uint64_t version) {
  const Result<tool::DumpJob> job = tool::parse_job(line, version);
  if (!parses(job)) return;
  CHECK(store::problem(job->row).empty());
  CHECK(job->body_kind != tool::DumpBody::Kind::Whole || job->body.size() == job->row.body_bytes);
  const std::string text = written([&](tool::DumpWriter& writer) {
    writer.job(job->row, job->tube, {.kind = job->body_kind, .bytes = job->body});
  });
  const Result<tool::DumpJob> again = tool::parse_job(text, version);
  CHECK(again.ok());
  CHECK(again->row == job->row);
  CHECK(again->tube == job->tube);
  CHECK(again->body == job->body);
  CHECK(again->body_kind == job->body_kind);
}

void check_key(std::string_view line) {
  const Result<KeyStored> key = tool::parse_key(line);
  if (!parses(key)) return;
  CHECK(store::problem(*key).empty());
  CHECK(wire::is_tube_name(key->tube));
  const std::string text = written([&](tool::DumpWriter& writer) { writer.key(*key); });
  CHECK(tool::is_key(text));
  const Result<KeyStored> again = tool::parse_key(text);
  CHECK(again.ok());
  CHECK(*again == *key);
}

void check_schedule(std::string_view line) {
  const Result<tool::DumpSchedule> schedule = tool::parse_schedule(line);
  if (!parses(schedule)) return;
  CHECK(store::problem(*schedule->stored.schedule).empty());
  CHECK(store::problem(schedule->stored.progress).empty());
  const std::string text =
      written([&](tool::DumpWriter& writer) { writer.schedule(schedule->stored, schedule->body); });
  CHECK(tool::is_schedule(text));
  const Result<tool::DumpSchedule> again = tool::parse_schedule(text);
  CHECK(again.ok());
  CHECK(again->stored == schedule->stored);
  CHECK(again->body == schedule->body);
}

void check_note(std::string_view line) {
  const Result<NoteStored> note = tool::parse_note(line);
  if (!parses(note)) return;
  CHECK(store::problem(*note).empty());
  const std::string text =
      written([&](tool::DumpWriter& writer) { writer.note(note->job, note->note); });
  CHECK(tool::is_note(text));
  const Result<NoteStored> again = tool::parse_note(text);
  CHECK(again.ok());
  CHECK(*again == *note);
}

}  // namespace

// Parses each line as each kind of line, of each version.
void dump(std::string_view input) {
  while (!input.empty()) {
    const size_t end = std::min(input.find('\n'), input.size());
    const std::string_view line = input.substr(0, end);
    check_header(line);
    check_key(line);
    check_note(line);
    check_schedule(line);
    for (uint64_t version = tool::dump_version_min; version <= tool::dump_version; ++version) {
      check_job(line, version);
      if (tool::is_footer(line)) parses(tool::parse_footer(line, version));
    }
    input.remove_prefix(std::min(end + 1, input.size()));
  }
}

}  // namespace perennial::fuzz
