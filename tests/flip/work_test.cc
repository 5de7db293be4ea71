#include "tests/flip/work.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "store/damage/damage_record.h"
#include "store/offline/check.h"
#include "store/offline/repair.h"
#include "store/reader.h"
#include "tests/flip/positions.h"
#include "tests/flip/seen.h"
#include "tests/flip/specimen.h"
#include "tests/store/child.h"
#include "tests/store/random_store.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

// P11: a block of a table is damaged, and the store works on until a compaction has passed over it.
// Then it is killed, or closed, and started again.
//
// Bodies: it never stops, exactly the jobs whose bodies were put into that block are without one,
// every other row and body is as it was, and no deleted job comes back. Ended jobs that have lost
// their bodies are gone. Ended jobs and their order: it never stops, exactly the ended jobs whose
// rows were put into that block are gone, none for good if the block was of the order, and every
// other row and body is as it was. Any other family: it stops
// with a message that names the table, and starts refuse with such a message, or all is there. A
// salvage and a repair then bring back everything whose row was not in the block.
//
// The load has jobs in all states with and without each optional field, keys that are held and that
// cool down, tubes, pauses and settings; 4,000 jobs in tables of several blocks, one table of each
// family or several levels of them, large or small. The damage is one bit of a block, or a byte
// that the disk cannot read; of bodies it is there before the start or comes later, and of other
// families later, of most of them because a start that finds it is refused: flip_test.cc. The doors
// are writes, flushes, compactions, reads, rewrites, starts, readers, checks, salvages and repairs.
// Blind to: two damaged blocks; an index or a footer, for which see flip_test.cc and
// salvage_test.cc; bodies in RocksDB's cache, because nobody reads them before the damage; time;
// the replies of a server, which tests/crash has.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;
using support::BadSectors;

// What a child has found: a word for the tally, and what is never allowed.
struct Finding {
  std::string word;
  std::string problem;
};

// The file system of a start after the work. The block is still unreadable, if it was.
class Disk {
 public:
  explicit Disk(const WorkPlan& plan) {
    if (plan.harm == Harm::Unreadable) harm(plan, block_of(plan), *sectors_);
  }
  rocksdb::Env* env() const { return env_.get(); }
  void replace() { sectors_->set("", 0, 0); }

 private:
  const std::shared_ptr<BadSectors> sectors_ =
      std::make_shared<BadSectors>(rocksdb::FileSystem::Default());
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(sectors_);
};

std::string key_of(JobId id) {
  return std::string(view(job_key(id)));
}

std::string text_of(const std::set<JobId>& ids) {
  std::string out;
  for (const JobId id : ids) out += fmt::format("{} ", id);
  return out;
}

// ---- Bodies.

std::set<JobId> in_block(const DataBlock& block, const Image& image) {
  std::set<JobId> out;
  for (const auto& [id, row] : image.jobs) {
    if (block.puts.contains(key_of(id))) out.insert(id);
  }
  return out;
}

// Reads the bodies of all jobs. Returns what is wrong, but for those that may be lost.
std::string read_bodies(Store& store, const Image& image, std::set<JobId>& lost) {
  lost.clear();
  for (const auto& [id, row] : image.jobs) {
    const Result<Body> body = store.read_body(id);
    if (!body.ok()) {
      lost.insert(id);
    } else if (body->view() != body_of(id)) {
      return fmt::format("body of job {} is another", id);
    }
  }
  return "";
}

// Whether these are the rows of the model, without ended jobs that may be lost.
bool has_rows(const Image& found, Image wanted, const std::set<JobId>& may_lack) {
  for (const JobId id : may_lack) {
    if (!found.ended.contains(id)) wanted.ended.erase(id);
  }
  return found == wanted;
}

// A start after the work: the jobs are those of the model, and the bodies of the block are lost.
std::string start_degraded(const WorkPlan& plan, const Worked& worked, const StoreModel& model,
                           const Disk& disk, bool is_first) {
  const Seen seen = look_at(plan.path, disk.env());
  std::string fatal;
  Options options = {.data_dir = plan.path, .env = disk.env()};
  options.events.fatal = [&](const Status& status) { fatal = status.message(); };
  const auto store = Store::open(options);
  if (!store.ok()) return "it does not start: " + store.status().message();
  const Opening& opening = (*store)->opening();
  if (opening.next_id < model.next_id()) return "an id that was shown is free";
  const Result<Image> found = read_image(**store);
  if (!found.ok()) return "it does not load: " + found.status().message();
  const std::set<JobId> ended = block_of(plan).ended_jobs(model.image());
  if (!has_rows(*found, model.image(), ended)) return "it has other rows";
  std::set<JobId> lost;
  if (std::string wrong = read_bodies(**store, *found, lost); !wrong.empty()) return wrong;
  std::set<JobId> wanted = in_block(block_of(plan), *found);
  // A compaction may have read the block before it was damaged, and then nobody has met damage.
  const bool is_met = !worked.has_passed || !(*store)->damaged_blocks().empty();
  if (!is_met) wanted.clear();
  if (lost != wanted) {
    return fmt::format("lost: {}; in the block: {}", text_of(lost), text_of(wanted));
  }
  // The reader has seen the directory before the start has removed any.
  const bool has_all = has_rows(*found, model.image(), {});
  const std::string other =
      has_all ? difference(seen, opening, found, text_of(lost)) : std::string();
  if (!other.empty()) return other;
  std::atomic<bool> cancelled = false;
  (*store)->repair_damage(cancelled);
  if (std::string wrong = read_bodies(**store, *found, lost); !wrong.empty()) return wrong;
  if (lost != wanted) return "after the repair it has lost: " + text_of(lost);
  // A start has compared bodies with jobs, once the block was known to it.
  for (JobId id = 1; !is_first && id < model.next_id(); ++id) {
    const bool is_kept = found->jobs.contains(id) || found->ended.contains(id);
    if (is_kept || !(*store)->read_body(id).ok()) continue;
    return fmt::format("the body of job {}, which was deleted, is back", id);
  }
  if (!worked.has_passed && (*store)->damaged_blocks().size() > 1) return "blocks too many";
  return fatal;
}

Finding examine_bodies(const WorkPlan& plan, const Worked& worked) {
  if (!worked.failure.empty()) return {.word = "", .problem = "it failed: " + worked.failure};
  const Disk disk(plan);
  const StoreModel model = model_after(plan, worked, worked.written);
  for (int start = 0; start < 3; ++start) {
    std::string wrong = start_degraded(plan, worked, model, disk, start == 0);
    if (!wrong.empty()) return {.word = "", .problem = fmt::format("start {}: {}", start, wrong)};
  }
  const std::string record = plan.path + "/db/" + damage_record_name;
  std::set<JobId> lost;
  if (fs::exists(record)) {
    lost = in_block(block_of(plan), model.image());
  }
  const auto checked = check_directory({.path = plan.path, .env = disk.env()});
  if (!checked.ok()) return {.word = "", .problem = checked.status().message()};
  if (!checked->starts && checked->faults > 0) return {.word = "", .problem = "check: no start"};
  if (checked->faults != lost.size()) return {.word = "", .problem = "check: other faults"};
  return {.word = lost.empty() ? "nothing was lost" : "bodies were lost", .problem = ""};
}

// ---- Ended jobs and their order.

// What is wrong with what a reader has found. It shows what is in no damaged block, and names the
// table if it is there still. Jobs whose places are lost are found by their own rows.
std::string judge_reader(const WorkPlan& plan, const Seen& seen, const StoreModel& model,
                         bool was_known, bool has_table) {
  if (seen.has_changed) return "the reader has changed the directory";
  if (!seen.opened.ok()) return "the reader refuses: " + seen.opened.message();
  if (!seen.image.ok()) return "the reader refuses: " + seen.image.status().message();
  const DataBlock block = block_of(plan);
  const bool has_rows_of_jobs = plan.family == Family::Ended;
  Image wanted = model.image();
  if (has_rows_of_jobs && (has_table || was_known)) {
    for (const JobId id : block.ended_jobs(model.image())) wanted.ended.erase(id);
  }
  if (*seen.image != wanted) return "the reader sees other rows";
  const bool is_named = seen.missing.message().find(block.file) != std::string::npos;
  const bool is_said = has_rows_of_jobs && has_table;
  if (is_said ? is_named : seen.missing.ok()) return "";
  return "what the reader says is missing: " + seen.missing.message();
}

// A start after the work. `is_met`: a start has known of the block.
std::string start_without_ended(const WorkPlan& plan, const StoreModel& model, const Disk& disk,
                                bool& is_met) {
  const bool was_known = is_met || fs::exists(plan.path + "/db/" + damage_record_name);
  const bool has_table = fs::exists(plan.path + "/db/" + block_of(plan).file);
  const Seen seen = look_at(plan.path, disk.env());
  std::string unseen = judge_reader(plan, seen, model, was_known, has_table);
  if (!unseen.empty()) return unseen;
  std::string fatal;
  Options options = {.data_dir = plan.path, .env = disk.env()};
  options.events.fatal = [&](const Status& status) { fatal = status.message(); };
  const auto store = Store::open(options);
  if (!store.ok()) return "it does not start: " + store.status().message();
  if ((*store)->opening().next_id < model.next_id()) return "an id that was shown is free";
  const Result<Image> found = read_image(**store);
  if (!found.ok()) return "it does not load: " + found.status().message();
  is_met = was_known || !(*store)->damaged_blocks().empty();
  const std::set<JobId> in_block = block_of(plan).ended_jobs(model.image());
  if (!has_rows(*found, model.image(), in_block)) return "it has other rows";
  std::set<JobId> lost;
  for (const auto& [id, job] : model.image().ended) {
    if (!found->ended.contains(id)) lost.insert(id);
  }
  // A compaction may have read the block before it was damaged. Places are written again by a start
  // that knows of the block.
  const bool may_be_whole = !is_met || plan.family == Family::EndedOrder;
  const bool may_be_lost = is_met && !(was_known && plan.family == Family::EndedOrder);
  const bool is_right = (may_be_whole && lost.empty()) || (may_be_lost && lost == in_block);
  if (!is_right) {
    return fmt::format("lost: {}; in the block: {}", text_of(lost), text_of(in_block));
  }
  std::set<JobId> without_body;
  if (std::string wrong = read_bodies(**store, *found, without_body); !wrong.empty()) return wrong;
  if (!without_body.empty()) return "bodies are lost";
  std::atomic<bool> cancelled = false;
  (*store)->repair_damage(cancelled);
  // A start has compared bodies with jobs, once the block was known to it.
  for (JobId id = 1; was_known && id < model.next_id(); ++id) {
    const bool is_kept = found->jobs.contains(id) || found->ended.contains(id);
    if (is_kept || !(*store)->read_body(id).ok()) continue;
    return fmt::format("the body of job {}, which is gone, is back", id);
  }
  return fatal;
}

Finding examine_ended(const WorkPlan& plan, const Worked& worked) {
  if (!worked.failure.empty()) return {.word = "", .problem = "it failed: " + worked.failure};
  const Disk disk(plan);
  const StoreModel model = model_after(plan, worked, worked.written);
  bool is_met = false;
  for (int start = 0; start < 4; ++start) {
    std::string wrong = start_without_ended(plan, model, disk, is_met);
    if (!wrong.empty()) return {.word = "", .problem = fmt::format("start {}: {}", start, wrong)};
  }
  const auto checked = check_directory({.path = plan.path, .env = disk.env()});
  if (!checked.ok()) return {.word = "", .problem = checked.status().message()};
  if (!checked->starts && checked->faults > 0) return {.word = "", .problem = "check: no start"};
  if (checked->faults > 0) return {.word = "", .problem = "check: faults"};
  const bool is_less = checked->ended < model.image().ended.size();
  return {.word = is_less ? "ended jobs were lost" : "nothing was lost", .problem = ""};
}

// ---- Other families.

// Opens and loads the directory as a server would.
Result<Image> start(const WorkPlan& plan, const Disk& disk, Opening& opening,
                    HasNotes has_notes = HasNotes::All) {
  Options options = {.data_dir = plan.path, .env = disk.env()};
  options.events.fatal = [](const Status&) {};
  const auto store = Store::open(options);
  if (!store.ok()) return store.status();
  opening = (*store)->opening();
  Result<Image> image = read_image(**store);
  if (image.ok()) {
    const std::string bodies = difference(**store, *image, has_notes);
    if (!bodies.empty()) return Status(StatusCode::InvalidArgument, bodies);
  }
  return image;
}

// What a salvage finds, compared with what was there.
class Salvage {
 public:
  Salvage(const DataBlock& block, const Image& wanted, const Image& found, const Salvaged& account)
      : block_(block), wanted_(wanted), found_(found) {
    rows_lost_.insert(account.rows_lost.ids.begin(), account.rows_lost.ids.end());
    uncertain_.insert(account.uncertain.ids.begin(), account.uncertain.ids.end());
    bodies_lost_ = account.bodies_lost.count;
  }

  std::string judge() const {
    if (bodies_lost_ > 0) return "it has lost bodies";
    for (const auto& [id, row] : wanted_.jobs) {
      if (std::string wrong = judge_job(id, row); !wrong.empty()) return wrong;
    }
    for (const auto& [id, row] : found_.jobs) {
      if (wanted_.jobs.contains(id)) continue;
      const bool is_named = uncertain_.contains(id) && is_state() && block_.spans(key_of(id));
      if (!is_named) return fmt::format("job {}, which was deleted, is back", id);
    }
    for (const auto& [tube, name] : wanted_.tubes) {
      if (may_miss(view(tube_key(MetaTag::Tube, tube)))) continue;
      if (!found_.tubes.contains(tube) || found_.tubes.at(tube) != name) return name + " is lost";
    }
    for (const auto& [tube, until] : wanted_.pauses) {
      if (may_miss(view(tube_key(MetaTag::Pause, tube)))) continue;
      if (may_miss(view(tube_key(MetaTag::Tube, tube)))) continue;
      if (!found_.pauses.contains(tube) || found_.pauses.at(tube) != until)
        return "a pause is lost";
    }
    for (const auto& [tube, settings] : wanted_.settings) {
      if (may_miss(settings_key(tube))) continue;
      const bool is_there = found_.settings.contains(tube) && found_.settings.at(tube) == settings;
      if (!is_there) return "settings are lost";
    }
    return judge_keys();
  }
  size_t lost() const { return rows_lost_.size(); }

 private:
  bool is_state() const { return block_.family != Family::Meta && block_.family != Family::Keys; }
  bool may_miss(std::string_view meta_key) const {
    return block_.family == Family::Meta && block_.spans(meta_key);
  }
  std::string judge_job(JobId id, const JobRow& row) const {
    const bool was_in_block =
        family_of(row.state) == block_.family && block_.puts.contains(key_of(id)) && is_state();
    const bool may_be_other = is_state() && block_.spans(key_of(id)) && uncertain_.contains(id);
    const auto again = found_.jobs.find(id);
    if (again == found_.jobs.end()) {
      if (was_in_block && rows_lost_.contains(id)) return "";
      return fmt::format("job {} is lost", id);
    }
    // The state is right, but its newest row was in the block: store/salvage/README.md.
    const bool is_older = was_in_block && again->second.state == row.state;
    if (again->second == row || may_be_other || is_older) return "";
    return fmt::format("the row of job {} is another", id);
  }
  // A key is held by a job, or has an end. Where rows of jobs or names of tubes are lost, so are
  // the keys of those.
  std::string judge_keys() const {
    for (const auto& [name, key] : wanted_.keys) {
      if (block_.family == Family::Keys && block_.spans(key_row_key(key.tube, key.key))) continue;
      const auto job = wanted_.jobs.find(key.job);
      const bool has_job = job != wanted_.jobs.end();
      if (is_state() && block_.spans(key_of(key.job))) continue;
      if (has_job && may_miss(view(tube_key(MetaTag::Tube, job->second.tube)))) continue;
      const auto again = found_.keys.find(name);
      if (again == found_.keys.end() || !(again->second == key)) return key.key + " is lost";
    }
    return "";
  }

  const DataBlock& block_;
  const Image& wanted_;
  const Image& found_;
  std::set<JobId> rows_lost_;
  std::set<JobId> uncertain_;
  uint64_t bodies_lost_ = 0;
};

// The jobs of an image under the names of their tubes, which a repair may number anew.
std::map<JobId, std::pair<std::string, JobRow>> by_name(const Image& image) {
  std::map<JobId, std::pair<std::string, JobRow>> out;
  for (const auto& [id, row] : image.jobs) {
    out[id] = {image.tubes.at(row.tube), row};
    out[id].second.tube = 0;
  }
  return out;
}

std::string repair(const WorkPlan& plan, const Disk& disk) {
  const auto repair = Repair::open(plan.path, {}, disk.env());
  if (!repair.ok()) return "it cannot be repaired: " + repair.status().message();
  const auto done = (*repair)->run("20260101T000000Z");
  if (!done.ok()) return "the repair failed: " + done.status().message();
  return "";
}

// A job whose newest row is lost has an older one, which may count notes that others have taken the
// place of. A repair lets it count those that the salvage finds.
Status count_again(const Reader& reader, Image& salvaged) {
  Reader::Notes notes = reader.notes();
  for (auto& [id, row] : salvaged.jobs) {
    const uint32_t had = row.fields ? row.fields->notes : 0;
    if (had == 0) continue;
    const Result<std::vector<Note>> found = notes.read(id, had);
    if (!found.ok()) return found.status();
    if (found->size() == notes_kept(had)) continue;
    row.fields.make().notes = static_cast<uint32_t>(found->size());
    if (*row.fields == JobFields()) row.fields.reset();
  }
  return {};
}

std::string start_repaired(const WorkPlan& plan, const Disk& disk, const Image& salvaged) {
  Opening opening;
  const Result<Image> found = start(plan, disk, opening, HasNotes::CountedAgain);
  if (!found.ok()) return "after the repair: " + found.status().message();
  if (by_name(*found) != by_name(salvaged)) return "the repair has other jobs than the salvage";
  return found->keys == salvaged.keys ? "" : "the repair has other keys than the salvage";
}

bool names(const std::string& message, const DataBlock& block) {
  return message.find(block.file) != std::string::npos;
}

std::string salvage(const WorkPlan& plan, const Worked& worked, const Disk& disk) {
  Image salvaged;
  {
    const auto reader = Reader::open({.path = plan.path, .salvage = true, .env = disk.env()});
    if (!reader.ok()) return "nothing can be salvaged: " + reader.status().message();
    const Result<Image> found = read_image(**reader);
    if (!found.ok()) return "the salvage does not load: " + found.status().message();
    salvaged = *found;
    const BatchIndex index = (*reader)->commit().index;
    if (index < worked.written || index > worked.submitted) return "the salvage ends elsewhere";
    const StoreModel model = model_after(plan, worked, index);
    if ((*reader)->next_id() < model.next_id()) return "an id that was shown is free";
    const DataBlock block = block_of(plan);
    std::string wrong = Salvage(block, model.image(), salvaged, *(*reader)->salvaged()).judge();
    if (!wrong.empty()) return "salvaged: " + wrong;
    const Status counted = count_again(**reader, salvaged);
    if (!counted.ok()) return "the salvaged notes cannot be read: " + counted.message();
  }
  if (plan.harm == Harm::Unreadable) return "";
  if (std::string wrong = repair(plan, disk); !wrong.empty()) return wrong;
  return start_repaired(plan, disk, salvaged);
}

Finding examine_state(const WorkPlan& plan, const Worked& worked) {
  const DataBlock block = block_of(plan);
  if (!worked.failure.empty() && !names(worked.failure, block)) {
    return {.word = "", .problem = "it failed without naming the table: " + worked.failure};
  }
  Disk disk(plan);
  Opening opening;
  const Result<Image> found = start(plan, disk, opening);
  const auto is_exact = [&](const Image& image) {
    if (opening.last_index < worked.written || opening.last_index > worked.submitted) return false;
    return image == model_after(plan, worked, opening.last_index).image();
  };
  if (found.ok()) {
    if (!worked.failure.empty()) return {.word = "", .problem = "it starts in spite of the damage"};
    return {.word = "whole", .problem = is_exact(*found) ? "" : "it starts with other rows"};
  }
  if (!names(found.status().message(), block)) {
    return {.word = "", .problem = "it refuses for something else: " + found.status().message()};
  }
  if (std::string wrong = salvage(plan, worked, disk); !wrong.empty()) {
    return {.word = "", .problem = wrong};
  }
  if (plan.harm == Harm::Unreadable) {
    disk.replace();
    const Result<Image> whole = start(plan, disk, opening);
    if (!whole.ok()) return {.word = "", .problem = "readable again: " + whole.status().message()};
    if (!is_exact(*whole)) return {.word = "", .problem = "readable again, it has other rows"};
  }
  return {.word = worked.failure.empty() ? "refused at the start" : "stopped", .problem = ""};
}

// ---- The runs.

Finding examine(const WorkPlan& plan, const Worked& worked) {
  const ChildEnd end = run_child([&](const Pipe& pipe) {
    const Finding found = plan.family == Family::Bodies   ? examine_bodies(plan, worked)
                          : is_of_ended_jobs(plan.family) ? examine_ended(plan, worked)
                                                          : examine_state(plan, worked);
    const std::string sent = found.word + "\n" + found.problem;
    pipe.send_bytes(sent.data(), sent.size());
    ::_exit(0);
  });
  const size_t line = end.sent.find('\n');
  if (line == std::string::npos) return {.word = "", .problem = "the check was ended"};
  return {.word = end.sent.substr(0, line), .problem = end.sent.substr(line + 1)};
}

std::string describe(const WorkPlan& plan) {
  return fmt::format("seed {} block {} of {}, {} {}{}{}", plan.seed, plan.block,
                     name_of(plan.family), plan.harm == Harm::Flipped ? "flipped" : "unreadable",
                     plan.is_at_rest ? "at rest"
                     : plan.is_fresh ? "when written"
                                     : "at work",
                     plan.closes ? ", closed" : "", plan.has_small_tables ? ", small tables" : "");
}

class Work : public testing::TestWithParam<Family> {};

TEST_P(Work, GoesOnOverADamagedBlockOrStopsAndIsSalvaged) {
  std::mt19937_64 random(support::seed() + place_of(GetParam()));
  const TempDir dir;
  const bool is_body = GetParam() == Family::Bodies;
  const uint64_t grounds_seed = random();
  for (const bool is_worn : {false, true}) {
    make_ground(dir.path() + (is_worn ? "/worn" : "/new"), is_worn, grounds_seed,
                is_of_ended_jobs(GetParam()) ? 1500 : 0);
  }
  std::map<std::string, int> tally;
  const uint64_t count = std::max<uint64_t>(runs() * 2 / 3, 1) * (is_body ? 2 : 1);
  for (uint64_t run = 0; run < count; ++run) {
    WorkPlan plan = {.ground = dir.path() + (run % 3 == 0 ? "/new" : "/worn"),
                     .path = dir.path() + "/copy",
                     .family = GetParam(),
                     .harm = run % 2 == 0 ? Harm::Flipped : Harm::Unreadable,
                     .is_at_rest = is_body && random() % 2 == 0,
                     .closes = random() % 4 == 0,
                     .has_small_tables = random() % 4 == 0,
                     .block = random(),
                     .seed = random()};
    // Blocks of meta stay in RocksDB's cache once a start has read them. A table that lies above
    // others would be compacted at once if there were another one.
    const uint64_t fresh_of_4 = GetParam() == Family::Meta ? 3 : 2;
    plan.is_fresh = !plan.is_at_rest && random() % 4 < fresh_of_4;
    if (plan.is_fresh) plan.ground = dir.path() + "/new";
    SCOPED_TRACE(describe(plan));
    copy_data_dir(plan.ground, plan.path);
    const Worked worked = work(plan);
    ASSERT_EQ(worked.problem, "") << worked.failure;
    ASSERT_TRUE(worked.is_open) << worked.failure;
    const Finding found = examine(plan, worked);
    ASSERT_EQ(found.problem, "");
    ++tally[found.word + (worked.has_passed ? ", passed over" : "")];
  }
  for (const auto& [what, number] : tally) std::printf("%-32s%d\n", what.c_str(), number);
}

std::string family_name(const testing::TestParamInfo<Family>& one) {
  std::string name(name_of(one.param));
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  std::erase(name, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Store, Work,
                         testing::Values(Family::Meta, Family::Ready, Family::Reserved,
                                         Family::Delayed, Family::Buried, Family::Bodies,
                                         Family::Keys, Family::Ended, Family::EndedOrder),
                         family_name);

}  // namespace
}  // namespace perennial::store
