#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "store/store.h"
#include "tests/power_cut/found.h"

namespace perennial::power_cut {
namespace {

FoundJob found_job(const JobRow& row, std::string tube) {
  FoundJob job = {.facts = {.exists = true,
                            .state = row.state,
                            .priority = row.priority,
                            .delay_s = row.delay_s,
                            .reserves = row.reserves,
                            .releases = row.releases,
                            .buries = row.buries,
                            .kicks = row.kicks},
                  .tube = std::move(tube),
                  .ttr_s = row.ttr_s};
  if (!row.fields) return job;
  job.tries = row.fields->tries;
  job.dead = row.fields->dead;
  if (row.fields->key) job.key = row.fields->key->key;
  return job;
}

// All of one tube, with their bodies.
Status read_ended(const store::Store& store, const std::string& tube, Found& found) {
  store::EndedQuery query = {
      .tube = tube, .from = 1, .jobs_max = 1'000, .bytes_max = 64 << 20, .with_bodies = true};
  while (true) {
    Result<store::EndedPage> page = store.read_ended(query);
    if (!page.ok()) return page.take_status();
    for (const store::EndedFound& one : page->jobs) {
      const JobId id = one.job.row.id;
      if (!one.body) return {StatusCode::Corruption, fmt::format("ended job {} has no body", id)};
      FoundJob job = found_job(one.job.row, one.job.tube);
      job.facts.exists = false;
      job.facts.has_ended = true;
      job.body = one.body->view();
      found.ended.emplace(id, std::move(job));
    }
    if (page->is_end) return {};
    query.from = page->next_place;
  }
}

}  // namespace

Result<Found> read_store(const std::string& data_dir) {
  Found found;
  Status fatal;
  store::Options options = {.data_dir = data_dir, .log_bytes_max = 8 << 20};
  options.events.fatal = [&](const Status& status) { fatal = status; };
  Result<std::unique_ptr<store::Store>> store = store::Store::open(std::move(options));
  if (!store.ok()) return store.take_status();
  found.next_id = (*store)->opening().next_id;
  std::map<TubeId, std::string> tubes;
  store::LoadSink sink;
  sink.tube = [&](TubeId id, std::string_view name) {
    tubes.emplace(id, name);
    return Status();
  };
  sink.pause = [&](const TubePaused& pause) {
    found.pauses[tubes.at(pause.tube)] = static_cast<uint64_t>(pause.pause / nanos_per_second);
    return Status();
  };
  sink.settings = [&](const SettingsStored& stored) {
    if (stored.settings.tries) found.tries[stored.tube] = *stored.settings.tries;
    if (stored.settings.keep)
      found.keeps[stored.tube] = static_cast<uint64_t>(*stored.settings.keep / nanos_per_second);
    return Status();
  };
  sink.job = [&](const JobRow& row) {
    found.jobs.emplace(row.id, found_job(row, tubes.at(row.tube)));
    return Status();
  };
  std::vector<std::string> keeping;
  sink.ended = [&](const std::string& tube, const EndedSpan&) {
    keeping.push_back(tube);
    return Status();
  };
  sink.key = [&](const KeyStored& key) {
    found.keys[key.tube + " " + key.key] = {.job = key.job, .in_cooldown = key.expires_at != 0};
    return Status();
  };
  if (Status s = (*store)->load(sink); !s.ok()) return s;
  for (auto& [id, job] : found.jobs) {
    Result<Body> body = (*store)->read_body(id);
    if (!body.ok()) return body.take_status();
    job.body = body->view();
  }
  for (const std::string& tube : keeping) {
    if (Status s = read_ended(**store, tube, found); !s.ok()) return s;
  }
  if (!fatal.ok()) return fatal;
  return found;
}

}  // namespace perennial::power_cut
