#include "tests/flip/forced_outcome.h"

#include <array>
#include <filesystem>
#include <map>
#include <memory>

#include <fmt/format.h>
#include <rocksdb/env.h>
#include <unistd.h>

#include "engine/types/check.h"
#include "tests/store/child.h"
#include "tests/store/dir_state.h"

namespace perennial::store {
namespace {

namespace fs = std::filesystem;
using support::FaultFs;

std::map<std::string, std::string> content_below(const std::string& dir) {
  std::map<std::string, std::string> out;
  for (const auto& [path, file] : state_of(dir)) out[path] = file.content;
  return out;
}

std::string render(const Outcome& outcome) {
  return fmt::format("{}\n{}\n{}", outcome.is_open ? 1 : 0, outcome.text, outcome.wrong);
}

Outcome parse(const std::string& sent) {
  const size_t first = sent.find('\n');
  if (first == std::string::npos) return {.is_open = false, .text = "", .wrong = "it was ended"};
  const size_t second = sent.find('\n', first + 1);
  return {.is_open = sent[0] == '1',
          .text = sent.substr(first + 1, second - first - 1),
          .wrong = sent.substr(second + 1)};
}

// Removes what the announcement leaves out: jobs that were deleted behind the cut, and the keys
// that they held. Returns how many.
uint64_t leave_out(Image& wanted, const Image& found, const Image& end) {
  uint64_t count = 0;
  std::erase_if(wanted.jobs, [&](const auto& job) {
    if (found.jobs.contains(job.first) || end.jobs.contains(job.first)) return false;
    std::erase_if(wanted.keys, [&](const auto& key) { return key.second.job == job.first; });
    ++count;
    return true;
  });
  return count;
}

std::string counts_of(const Image& image) {
  std::array<int, job_states.size()> jobs = {};
  for (const auto& [id, row] : image.jobs) ++jobs[static_cast<size_t>(row.state)];
  const auto count = [&](JobState state) { return jobs[static_cast<size_t>(state)]; };
  return fmt::format("ready={} reserved={} delayed={} buried={} tubes={} keys={} ",
                     count(JobState::Ready), count(JobState::Reserved), count(JobState::Delayed),
                     count(JobState::Buried), image.tubes.size(), image.keys.size());
}

// Compares an open store with the announced moment of the history.
std::string compare(Store& store, const RandomStore& made, const std::string& announced) {
  const Result<Image> found = read_image(store);
  if (!found.ok()) return "it does not load: " + found.status().message();
  const BatchIndex index = number_in(announced, "last_kept=");
  if (store.opening().last_index != index) return "it ends with another commit";
  Image wanted = made.model_at(index).image();
  const uint64_t left_out = leave_out(wanted, *found, made.model_at(made.index).image());
  const bool says_left_out = announced.find("deleted_later=") != std::string::npos;
  if (says_left_out && left_out != number_in(announced, "deleted_later=")) {
    return "it lacks other jobs";
  }
  if (announced.find(counts_of(*found)) == std::string::npos) return "it holds other numbers";
  // What was written over behind the cut may be flushed.
  return difference(store, wanted, HasNotes::MayLack);
}

}  // namespace

uint64_t number_in(std::string_view text, std::string_view name) {
  const size_t at = text.find(name);
  CHECK(at != std::string_view::npos);
  return std::stoull(std::string(text.substr(at + name.size())));
}

Outcome start(const RandomStore& made, const std::string& path, Recover recover,
              const std::function<void(FaultFs&)>& arrange) {
  const auto before = content_below(path);
  const ChildEnd end = run_child([&](const Pipe& pipe) {
    const auto faults = std::make_shared<FaultFs>(rocksdb::FileSystem::Default());
    const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(faults);
    Outcome out;
    Options options = {.data_dir = path, .recover = recover, .env = env.get()};
    options.events.info = [&](std::string_view at, std::string_view fields) {
      if (at != "store.forced_start") return;
      if (!arrange && content_below(path) != before)
        out.wrong = "it changed a file before it spoke";
      out.text = fields;
    };
    options.events.fatal = [](const Status&) { ::_exit(1); };
    if (arrange) arrange(*faults);
    const auto store = Store::open(options);
    out.is_open = store.ok();
    if (!store.ok()) {
      out.text = store.status().message();
    } else if (recover == Recover::PointInTime && !out.text.empty()) {
      if (std::string wrong = compare(**store, made, out.text); !wrong.empty()) out.wrong = wrong;
    } else if (const Result<Image> image = read_image(**store); !image.ok()) {
      out.wrong = "it opens and does not load: " + image.status().message();
    } else {
      out.text = fmt::format("last_kept={} {}", (*store)->opening().last_index, counts_of(*image));
      out.wrong = compare(**store, made, out.text);
    }
    const std::string sent = render(out);
    pipe.send_bytes(sent.data(), sent.size());
    ::_exit(0);
  });
  Outcome out = parse(end.sent);
  const bool is_changed =
      out.wrong.empty() && !out.is_open && !arrange && content_below(path) != before;
  if (is_changed) out.wrong = "the refused start has changed files";
  return out;
}

std::string reopen(const RandomStore& made, const std::string& path, const std::string& announced) {
  const ChildEnd end = run_child([&](const Pipe& pipe) {
    const auto store = Store::open({.data_dir = path});
    const std::string wrong =
        store.ok() ? compare(**store, made, announced) : store.status().message();
    if (!wrong.empty()) pipe.send_bytes(wrong.data(), wrong.size());
  });
  if (!end.sent.empty()) return end.sent;
  return fs::exists(path + "/set-aside") ? "files are still set aside" : "";
}

}  // namespace perennial::store
