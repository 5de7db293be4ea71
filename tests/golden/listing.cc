#include "tests/golden/listing.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "store/disk/hash.h"
#include "store/reader.h"

namespace perennial::golden {
namespace {

constexpr size_t shown_bytes_max = 64;

// Printable ASCII stays as it is and other bytes are escaped. A long text is replaced by its hash.
std::string text_of(std::string_view bytes) {
  if (bytes.size() > shown_bytes_max) {
    store::Hasher hasher;
    hasher.add(bytes);
    return fmt::format("{} bytes, xxh128 {}", bytes.size(), hasher.hex());
  }
  std::string out = "\"";
  for (const char byte : bytes) {
    const bool is_plain = byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\';
    out += is_plain ? std::string(1, byte) : fmt::format("\\x{:02x}", static_cast<uint8_t>(byte));
  }
  return out + "\"";
}

std::string text_of(const std::optional<Backoff>& backoff) {
  return backoff ? fmt::format(" backoff={} cap={}", backoff->first, backoff->cap) : "";
}

std::string_view text_of(KeyUntil until) {
  return until == KeyUntil::Deleted ? "deleted" : until == KeyUntil::Reserved ? "reserved" : "ttl";
}

// Only what is set.
std::string text_of(const JobFields& fields) {
  std::string out;
  const auto add = [&out](std::string_view name, auto value) {
    if (value != 0) out += fmt::format(" {}={}", name, value);
  };
  add("attempts", fields.attempts);
  add("tries", fields.tries);
  out += text_of(fields.backoff.copy());
  if (!fields.dead.empty()) out += " dead=" + text_of(fields.dead.str());
  if (!fields.from.empty()) out += " from=" + text_of(fields.from.str());
  add("expires", fields.expires_at);
  if (fields.key) {
    out +=
        fmt::format(" key={} seconds={} until={}{}", text_of(fields.key->key), fields.key->seconds,
                    text_of(fields.key->until), fields.key->given_up ? " given_up" : "");
  }
  if (fields.concurrency) {
    out += fmt::format(" concurrency={} of={}", text_of(fields.concurrency->key),
                       fields.concurrency->jobs_max);
  }
  add("delay_rest", fields.delay_rest_ns);
  add("ttr_rest", fields.ttr_rest_ns);
  add("notes", fields.notes);
  add("restored", fields.restored);
  if (!fields.put_by.empty()) out += " put_by=" + text_of(fields.put_by.str());
  add("first_reserved", fields.first_reserved);
  if (fields.schedule) {
    out += fmt::format(" schedule={} planned={}", text_of(fields.schedule->name),
                       fields.schedule->planned);
  }
  return out;
}

std::string text_of(const ScheduleWhen& when) {
  if (const auto* const every = std::get_if<ScheduleEvery>(&when)) {
    return fmt::format(" every={} anchor={}", every->period, every->anchor.value_or(-1));
  }
  if (const auto* const cron = std::get_if<ScheduleCron>(&when)) {
    return fmt::format(" cron={} zone={}", text_of(cron->expression), text_of(cron->zone));
  }
  return fmt::format(" at={}", std::get<ScheduleAt>(when).time);
}

std::string text_of(const PutOptions& options) {
  std::string out;
  if (options.tries) out += fmt::format(" tries={}", options.tries->value);
  out += text_of(options.backoff);
  if (!options.dead.empty()) out += " dead=" + text_of(options.dead);
  if (options.expire.nanos != 0) out += fmt::format(" expire={}", options.expire.nanos);
  if (options.key) {
    out += fmt::format(" key={} ttl={} until={}", text_of(options.key->key), options.key->seconds,
                       options.until ? text_of(*options.until) : "none");
  }
  if (options.concurrency) {
    out += fmt::format(" con={} max={}", text_of(options.concurrency->key),
                       options.concurrency->jobs_max);
  }
  if (options.delay_rest_ns != 0) out += fmt::format(" delay_rest={}", options.delay_rest_ns);
  if (options.ttr_rest_ns != 0) out += fmt::format(" ttr_rest={}", options.ttr_rest_ns);
  return out;
}

std::string line_of(const ScheduleStored& stored, std::string_view body) {
  const Schedule& schedule = *stored.schedule;
  const ScheduleProgress& progress = stored.progress;
  return fmt::format(
      "schedule {} tube={}{} priority={} delay={} ttr={}{} missed_max={} overlap={} jitter={} "
      "state={} planned={} paused={} last_planned={} last_fired={} last_job={} fired={} "
      "skipped={} missed={} body={}\n",
      text_of(schedule.name), text_of(schedule.tube), text_of(schedule.when), schedule.put.priority,
      schedule.put.delay_s, schedule.put.ttr_s,
      schedule.put.options ? text_of(*schedule.put.options) : "", schedule.missed_max,
      static_cast<int>(schedule.overlap), schedule.jitter, static_cast<int>(progress.state),
      progress.planned.value_or(-1), progress.is_paused, progress.last_planned, progress.last_fired,
      progress.last_job, progress.fired, progress.skipped, progress.missed, text_of(body));
}

std::string line_of(const KeyStored& key) {
  return fmt::format("key {} {} job={} until={} expires={}\n", text_of(key.tube), text_of(key.key),
                     key.job, text_of(key.until), key.expires_at);
}

std::string line_of(const SettingsStored& stored) {
  const TubeSettings& settings = stored.settings;
  std::string out = "settings " + text_of(stored.tube);
  if (settings.tries) out += fmt::format(" tries={}", *settings.tries);
  out += text_of(settings.backoff);
  if (settings.dead) out += " dead=" + text_of(*settings.dead);
  if (settings.expire) out += fmt::format(" expire={}", *settings.expire);
  if (settings.reserved) out += fmt::format(" reserved={}", *settings.reserved);
  if (settings.rate) {
    out += fmt::format(" rate={} period={}", settings.rate->jobs, settings.rate->period);
  }
  if (settings.drain) out += fmt::format(" drain={}", *settings.drain);
  if (settings.keep) out += fmt::format(" keep={}", *settings.keep);
  if (settings.keep_max) out += fmt::format(" keep_max={}", *settings.keep_max);
  return out + "\n";
}

std::string line_of(const JobRow& job, std::string_view body) {
  return fmt::format(
      "job {} {} tube={} priority={} delay={} ttr={} created={} order={} reserves={} timeouts={} "
      "releases={} buries={} kicks={}{} body={}\n",
      job.id, state_name(job.state), job.tube, job.priority, job.delay_s, job.ttr_s, job.created,
      job.order, job.reserves, job.timeouts, job.releases, job.buries, job.kicks,
      job.fields ? text_of(*job.fields) : "", text_of(body));
}

std::string line_of(JobId job, const Note& note) {
  return fmt::format("note {} of {} attempt={} time={} user={} text={}\n", note.number, job,
                     note.attempt, note.time, text_of(note.user), text_of(note.text));
}

std::string line_of(const EndedJob& job, std::string_view body) {
  return fmt::format("ended {} place={} how={} at={} user={} of {}", text_of(job.tube), job.place,
                     job_end_rows[static_cast<size_t>(job.how)].name, job.at, text_of(job.user),
                     line_of(job.row, body));
}

// Reads them in the order of ids, as jobs.
Result<std::string> list_ended(const store::Reader& reader) {
  std::string out;
  store::Reader::Bodies bodies = reader.bodies();
  store::Reader::Notes notes = reader.notes();
  Status read = reader.ended([&](const EndedJob& job) {
    const Result<std::string_view> body = bodies.read(job.row.id);
    if (!body.ok()) return body.status();
    out += line_of(job, *body);
    const uint32_t had = job.row.fields ? job.row.fields->notes : 0;
    const Result<std::vector<Note>> found = notes.read(job.row.id, had);
    if (!found.ok()) return found.status();
    for (const Note& note : *found) out += line_of(job.row.id, note);
    return Status();
  });
  if (!read.ok()) return read;
  return out;
}

}  // namespace

Result<std::string> list(const std::string& data_dir) {
  Result<std::unique_ptr<store::Reader>> reader = store::Reader::open({.path = data_dir});
  if (!reader.ok()) return reader.take_status();
  const store::CommitRow& commit = (*reader)->commit();
  std::string out =
      fmt::format("commit epoch={} index={} known_durable={} now={}\nnext_id {}\n", commit.epoch,
                  commit.index, commit.known_durable, commit.now, (*reader)->next_id());
  store::Reader::Bodies bodies = (*reader)->bodies();
  store::Reader::Notes notes = (*reader)->notes();
  const auto tube = [&](TubeId id, std::string_view name) {
    out += fmt::format("tube {} {}\n", id, text_of(name));
    return Status();
  };
  const auto pause = [&](const TubePaused& paused) {
    out +=
        fmt::format("pause tube={} pause={} until={}\n", paused.tube, paused.pause, paused.until);
    return Status();
  };
  const auto job = [&](const JobRow& row) {
    const Result<std::string_view> body = bodies.read(row.id);
    if (!body.ok()) return body.status();
    out += line_of(row, *body);
    if (!row.fields || row.fields->notes == 0) return Status();
    const Result<std::vector<Note>> found = notes.read(row.id, row.fields->notes);
    if (!found.ok()) return found.status();
    for (const Note& note : *found) out += line_of(row.id, note);
    return Status();
  };
  std::string settings;
  const auto take_settings = [&](const SettingsStored& stored) {
    settings += line_of(stored);
    return Status();
  };
  const auto key = [&](const KeyStored& stored) {
    out += line_of(stored);
    return Status();
  };
  std::string places;
  const auto ended = [&](const std::string& name, const EndedSpan& span) {
    places += fmt::format("places of {} from={} to={}\n", text_of(name), span.first, span.next);
    return Status();
  };
  std::string schedules;
  const auto schedule = [&](const ScheduleStored& stored, std::string_view body) {
    schedules += line_of(stored, body);
    return Status();
  };
  Status loaded = (*reader)->load({.tube = tube,
                                   .pause = pause,
                                   .settings = take_settings,
                                   .job = job,
                                   .key = key,
                                   .ended = ended,
                                   .schedule = schedule});
  if (!loaded.ok()) return loaded;
  const Result<std::string> ended_jobs = list_ended(**reader);
  if (!ended_jobs.ok()) return ended_jobs.status();
  return out + settings + schedules + places + *ended_jobs;
}

}  // namespace perennial::golden
