#pragma once

#include <optional>
#include <string>

#include "engine/types/basic.h"
#include "engine/types/job_fields.h"
#include "engine/types/option_values.h"
#include "engine/types/reply.h"
#include "engine/types/stats.h"

// What is told on one line: what `with:` adds to a reply, and a line of list-jobs or list-clients.
namespace perennial::wire {

// "5" or "250ms", as a client writes it.
std::string duration_text(Nanos duration);

// Values of two parts, as a client writes them: "5:600", "10:1". An empty text: there is none, of a
// back-off also one whose first delay is 0.
std::string backoff_text(const std::optional<Backoff>& backoff);
std::string rate_text(const std::optional<Rate>& rate);

// Appends the value of a fact. Durations are in whole seconds, rounded down, as in `stats-job`.
void append_fact(std::string& out, JobFact fact, const JobStats& job);

// The YAML document that answers list-jobs: the cursor, and a flow mapping for each job.
std::string jobs_yaml(const JobList& list);

// The YAML document that answers list-clients: the same with connections.
std::string clients_yaml(const ClientList& list);

// The YAML document that answers list-notes: a list with a mapping for each note.
std::string notes_yaml(const NoteList& list);

}  // namespace perennial::wire
