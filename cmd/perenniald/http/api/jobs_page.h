#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cmd/perenniald/http/answer.h"
#include "cmd/perenniald/http/api/job_filter.h"
#include "cmd/perenniald/http/api/note_lines.h"
#include "cmd/perenniald/http/api/sources.h"
#include "cmd/perenniald/http/leases/leases.h"
#include "cmd/perenniald/http/sign_in.h"
#include "engine/types/command.h"

namespace perennial::http {

struct JobsAsked {
  ListJobs list;
  JobFilter filter = {};
  uint64_t limit = 0;
  bool is_newest_first = false;
  // Whether each job is shown with its newest note.
  bool with_notes = false;
  // Only jobs whose newest note has this line: NoteLines::line. Empty: only those without a note.
  std::optional<std::string> note = {};
};

// A page of jobs, found in steps of so many that are looked at. A page ends early when very many
// were looked at, or very many notes were read, and says where to go on. REQUIRES: the caller may
// list these jobs.
std::unique_ptr<Answer> make_jobs_page(ApiSources& sources, const Leases& leases, NoteCache& notes,
                                       const Caller& caller, JobsAsked asked);

}  // namespace perennial::http
