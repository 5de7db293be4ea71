#include "cmd/perenniald/server/bodies/bodies.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/process/failure.h"
#include "cmd/perenniald/process/log.h"

namespace perennial::perenniald {
namespace {

void end_with(const Status& failed) {
  end_process(running_failure(failed));
}

}  // namespace

Bodies::Bodies(uv_loop_t& loop, core::Core& core, TurnClock& clock, BodyReads::Done done)
    : core_(core),
      clock_(clock),
      reads_(loop, std::move(done), end_with),
      search_(loop, end_with),
      notes_(
          loop,
          [this](const core::NoteRead& read, Result<std::vector<Note>> notes) {
            on_notes(read, std::move(notes));
          },
          end_with),
      ended_(
          loop,
          [this](uint64_t ticket, core::EndedResult&& result) {
            core_.on_ended(ticket, std::move(result), clock_.now());
          },
          end_with),
      damage_(search_, *this) {}

void Bodies::on_notes(const core::NoteRead& read, Result<std::vector<Note>> notes) {
  if (!notes.ok()) {
    log(Level::Error, "note.damaged",
        {{"job", fmt::format("{}", read.job)}, {"error", notes.status().message()}});
  }
  core_.on_notes(read.ticket, std::move(notes));
}

bool Bodies::exists(JobId job) const {
  return core_.engine().view().tube_of_job(job) != nullptr;
}

void Bodies::on_lost(JobId job) {
  log(Level::Error, "body.lost", {{"job", fmt::format("{}", job)}});
  // One that a read has found is buried and counted already.
  const std::optional<JobStats> stats = core_.engine().view().job_statistics(job);
  if (stats && stats->state != JobState::Buried) core_.on_lost_body(job, clock_.now());
}

void Bodies::on_over() {
  log(Level::Info, "body.lost_over", {});
}

}  // namespace perennial::perenniald
