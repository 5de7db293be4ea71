#include "tests/power_cut/look.h"

#include <algorithm>
#include <array>
#include <random>

#include <fmt/format.h>

#include "store/checkpoint/checkpoint.h"
#include "tests/power_cut/found.h"
#include "tests/power_cut/image.h"
#include "tests/store/child.h"
#include "tests/store/temp_dir.h"

namespace perennial::power_cut {
namespace {

// Checkpoints that a client knows are whole.
std::string judge_checkpoints(const History& history, uint64_t cut, const std::string& data_dir) {
  for (const auto& [name, answered] : history.checkpoints) {
    if (answered > cut) continue;
    const auto verified = store::verify_checkpoint(data_dir + "/checkpoints/" + name);
    if (!verified.ok()) return verified.status().message();
  }
  return {};
}

// Builds the image of a cut, and returns what is wrong with it, or "". Runs in a child process.
std::string judge_image(const Disk& disk, const History& history, const Cut& cut, uint64_t known_at,
                        const std::string& parent) {
  const support::TempDir dir(parent);
  std::mt19937_64 random(cut.draw);
  const std::string drawn = write_image(disk, random, dir.path());
  const Result<Found> found = read_store(dir.path());
  std::string problem = found.ok() ? judge(history, {known_at, known_at}, *found)
                                   : "the start is refused: " + found.status().message();
  // To verify a checkpoint takes longer than all else.
  const bool looks_at_checkpoints = problem.empty() && cut.draw % 8 == 0;
  if (looks_at_checkpoints) problem = judge_checkpoints(history, known_at, dir.path());
  if (problem.empty()) return {};
  return fmt::format("cut at {}, drawn from {} ({}): {}", cut.at, cut.draw, drawn, problem);
}

// What a child says of an image: nothing, or what is wrong, of which this is the beginning.
using Report = std::array<char, 4000>;

}  // namespace

std::vector<Cut> draw_cuts(const Recording& recording, const History& history, uint64_t count,
                           uint64_t seed) {
  std::mt19937_64 random(seed);
  const uint64_t last = recording.events().size();
  std::vector<Cut> out;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t at = 1 + random() % last;
    if (random() % 2 == 0 && !history.answers.empty()) {
      at = history.answers[random() % history.answers.size()] + random() % 3;
    }
    out.push_back({.at = std::min(at, last), .draw = random()});
  }
  std::ranges::stable_sort(out, {}, &Cut::at);
  return out;
}

// A child process looks at several images, because a fork takes longer than an image.
Finding look_at_images(Disk disk, const Recording& recording, const History& history,
                       std::span<const Cut> cuts, std::optional<uint64_t> known_at) {
  constexpr size_t images_per_child = 25;
  const auto advance = [&](uint64_t to) {
    while (disk.events() < to) disk.apply(recording.events()[disk.events()]);
  };
  const store::TempDir images;  // Also of children that crash.
  Finding out;
  for (; !cuts.empty(); cuts = cuts.subspan(std::min(cuts.size(), images_per_child))) {
    advance(cuts.front().at);
    const auto some = cuts.first(std::min(cuts.size(), images_per_child));
    const store::ChildEnd end = store::run_child([&](const store::Pipe& pipe) {
      for (const Cut& cut : some) {
        advance(cut.at);
        const std::string problem =
            judge_image(disk, history, cut, known_at.value_or(cut.at), images.path());
        Report report{};
        problem.copy(report.data(), report.size() - 1);
        pipe.send(report);
        if (!problem.empty()) return;
      }
    });
    const std::vector<Report> reports = end.reports<Report>();
    out.images += reports.size();
    if (!reports.empty()) out.problem = reports.back().data();
    if (out.problem.empty() && reports.size() < some.size()) {
      const Cut& cut = some[reports.size()];
      out.problem = fmt::format("cut at {}, drawn from {}: the start ended with signal {} code {}",
                                cut.at, cut.draw, end.signal, end.exit_code);
    }
    if (!out.problem.empty()) break;
  }
  return out;
}

}  // namespace perennial::power_cut
