#include "migrations/steps.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/write_batch.h>

#include "engine/types/check.h"

namespace perennial::migrations {
namespace {

Status no_step(uint32_t from, uint32_t to) {
  return {StatusCode::Unsupported,
          fmt::format("this program has no step that takes format {} on towards {}: run the "
                      "migrate of a version in between first",
                      from, to)};
}

// Returns the steps from the format `from` to `how.to`. A directory of a format that is served is
// one of the newest that has nothing of what that adds: a step from the newest takes it as it is.
Result<std::vector<const Step*>> plan(const Migration& how, uint32_t from) {
  std::vector<const Step*> out;
  while (from < how.to) {
    const auto step = std::ranges::find(how.steps, from, &Step::from);
    if (step == how.steps.end()) {
      if (!store::is_served(from) || from == store::format_version) return no_step(from, how.to);
      from = std::min(store::format_version, how.to);
      continue;
    }
    CHECK(step->to == from + 1);
    out.push_back(&*step);
    from = step->to;
  }
  return out;
}

// An interrupted migration must be continued by the same step.
Status check_resumable(const store::RawStore& store, const std::vector<const Step*>& steps) {
  if (!store.migration()) return {};
  if (!steps.empty() && steps.front()->to == store.migration()->to) return {};
  if (store.migration()->to == store.format()) return {};  // RawStore::begin() completes it.
  return {StatusCode::Unsupported,
          fmt::format("a migration of it to format {} was cut short, which this program does not "
                      "know: go on with the program that began it",
                      store.migration()->to)};
}

// Runs one step. The database has the new format only when finish() has written its version, after
// the step.
Status run(store::RawStore& store, const Step& step) {
  if (Status begun = store.begin_step(step.to); !begun.ok())
    return std::move(begun).with(step.name);
  const auto& begun = store.migration();
  Rewrite rewrite(store, step.to, begun ? begun->progress : "");
  if (Status done = step.run(rewrite); !done.ok()) return std::move(done).with(step.name);
  return store.finish(step.to);
}

Status run_all(store::RawStore& store, const std::vector<const Step*>& steps) {
  if (Status begun = store.begin(); !begun.ok()) return begun;
  for (const Step* const step : steps) {
    if (Status done = run(store, *step); !done.ok()) return done;
  }
  return store.close();
}

}  // namespace

const std::vector<Step>& all_steps() {
  static const std::vector<Step> steps = {add_keys_step()};
  return steps;
}

rocksdb::ColumnFamilyHandle* Rewrite::family(std::string_view name) const {
  rocksdb::ColumnFamilyHandle* const found = store_.family(name);
  CHECK(found != nullptr);
  return found;
}

rocksdb::WriteBatch Rewrite::new_batch() const {
  return store_.new_batch();
}

Status Rewrite::commit(rocksdb::WriteBatch& batch, std::string progress) {
  progress_ = std::move(progress);
  return store_.write(batch, {.to = to_, .progress = progress_});
}

Result<Migrated> migrate(const Migration& how) {
  const uint32_t newest = std::max(how.to, store::format_version);
  Result<std::unique_ptr<store::RawStore>> store = store::RawStore::open({.data_dir = how.data_dir,
                                                                          .format_max = newest,
                                                                          .families = how.families,
                                                                          .events = how.events,
                                                                          .env = how.env});
  if (!store.ok()) return store.take_status();
  const uint32_t from = (*store)->format();
  const Result<std::vector<const Step*>> steps = plan(how, from);
  if (!steps.ok()) return steps.status();
  if (Status same = check_resumable(**store, *steps); !same.ok()) return same;
  Migrated out = {.from = from,
                  .to = std::max(from, how.to),
                  .resumed = (*store)->migration().has_value(),
                  .steps = {},
                  .checkpoint = {}};
  for (const Step* const step : *steps) out.steps.push_back(step->name);
  if (how.dry_run || (steps->empty() && !out.resumed)) return out;
  // An interrupted migration has taken its checkpoint when it began.
  if (!out.resumed) {
    Result<std::string> path = (*store)->make_checkpoint(how.now, how.server_version);
    if (!path.ok()) return path.take_status();
    out.checkpoint = path.take();
  }
  if (Status done = run_all(**store, *steps); !done.ok()) return done;
  return out;
}

}  // namespace perennial::migrations
