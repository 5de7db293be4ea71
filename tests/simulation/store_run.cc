#include "tests/simulation/store_run.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <fmt/format.h>
#include <rocksdb/env.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/simulation/log_loss.h"
#include "tests/simulation/schedules.h"
#include "tests/simulation/store_disk.h"
#include "tests/store/child.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"

namespace perennial::simulation {
namespace {

using support::Call;
using support::FaultFs;
using support::Loss;

// A day in 2023. The value has no significance.
constexpr Nanos first_now = 1'700'000'000 * nanos_per_second;
constexpr int servers_per_run = 4;
constexpr int exit_failed = 7;

// Shared memory for what a child cannot report when it ends.
struct Board {
  std::atomic<bool> power_lost = false;
  std::atomic<bool> killed = false;
  std::atomic<bool> fault_met = false;
  std::atomic<uint64_t> logs_truncated = 0;
  std::atomic<uint64_t> manifests_truncated = 0;
};

// How a server ends, and at which file call, counted from its start.
struct End {
  enum class Kind : uint8_t { PowerCut, Kill, Fault, Stop } kind = Kind::Stop;
  uint64_t calls = 0;
  Loss loss = Loss::Whole;
  uint64_t seed = 0;
  rocksdb::IOStatus status = {};
  std::optional<Call> only = {};
  bool writes_part = false;
};

rocksdb::IOStatus draw_status(std::mt19937_64& random) {
  switch (random() % 3) {
    case 0:
      return rocksdb::IOStatus::NoSpace("injected", "ENOSPC");
    case 1:
      return rocksdb::IOStatus::NoSpace("injected", "EDQUOT");
    default:
      return rocksdb::IOStatus::IOError("injected", "EIO");
  }
}

End draw_end(std::mt19937_64& random) {
  End end;
  const uint64_t drawn = random() % 10;
  end.kind = drawn < 5   ? End::Kind::PowerCut
             : drawn < 6 ? End::Kind::Kill
             : drawn < 9 ? End::Kind::Fault
                         : End::Kind::Stop;
  end.calls = random() % (random() % 3 == 0 ? 80 : 220);
  end.loss = static_cast<Loss>(random() % 3);
  end.seed = random();
  end.status = draw_status(random);
  end.writes_part = random() % 2 == 0;
  if (random() % 2 == 0) {
    constexpr std::array<Call, 9> kinds = {Call::Create, Call::Append, Call::Sync,
                                           Call::Rename, Call::Delete, Call::DirSync,
                                           Call::Read,   Call::Close,  Call::FreeSpace};
    end.only = kinds[random() % kinds.size()];
    end.calls %= *end.only == Call::Append || *end.only == Call::Sync ? 120 : 12;
  }
  return end;
}

void prepare(FaultFs& fs, const End& end, Board& board) {
  switch (end.kind) {
    case End::Kind::PowerCut:
      return fs.before_nth(end.calls, [&fs, &end, &board] {
        // Set first, because other threads end the process when calls fail.
        board.power_lost = true;
        fs.lose_power(end.loss, end.seed);
      });
    case End::Kind::Kill:
      return fs.before_nth(end.calls, [&board] {
        board.killed = true;
        ::_exit(0);
      });
    case End::Kind::Fault:
      return fs.fail_nth(end.calls, end.status, end.only, end.writes_part);
    case End::Kind::Stop:
      return;
  }
}

// How many jobs there are in a text of text_of().
uint64_t jobs_in(std::string_view image) {
  uint64_t jobs = image.starts_with("job ") ? 1 : 0;
  for (size_t at = image.find("\njob "); at != image.npos; at = image.find("\njob ", at + 1))
    ++jobs;
  return jobs;
}

// A data directory and the state around it that outlives a process.
class Machine {
 public:
  explicit Machine(const StoreRun& plan)
      : plan_(plan), history_(plan.durability == store::Durability::Commit) {
    void* const shared =
        ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    board_ = new (shared) Board;
  }
  ~Machine() { ::munmap(board_, sizeof(Board)); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Runs one process. Returns the problem, or an empty string.
  std::string run_server(uint64_t seed, const End& end, Figures& figures) {
    new (board_) Board;
    std::filesystem::remove(trace_);
    // The files that the last process deleted are gone for good, or restored.
    std::filesystem::remove_all(graves_);
    std::filesystem::create_directory(graves_);
    const store::ChildEnd child =
        store::run_child([&](const store::Pipe& pipe) { serve(seed, end, pipe); });
    bool opened = false;
    for (const Event& event : decode_events(child.sent)) {
      now_ = std::max(now_, event.now);
      const bool is_opened =
          event.kind == Event::Kind::Opened || event.kind == Event::Kind::OpenedForLeases;
      if (is_opened) conn_ = event.conn;
      if (event.kind == Event::Kind::Batch) ++figures.batches;
      if (event.kind == Event::Kind::Found) figures.jobs_found += jobs_in(event.bytes);
      opened = opened || event.kind == Event::Kind::Found;
      history_.add(event);
    }
    count(figures, child);
    history_.crashed(board_->power_lost && plan_.durability != store::Durability::Commit, now_);
    std::string problem = judge(child, opened);
    if (problem.empty() && seed % 4 == 0) problem = lose_log_of_copy(seed, figures);
    return problem.empty() ? problem : problem + "\n" + last_calls();
  }

  uint64_t given_up() { return history_.checker().given_up_count(); }
  uint64_t answers() { return history_.checker().answer_count(); }

 private:
  [[noreturn]] void fail(const store::Pipe& pipe, FaultFs& fs, const std::string& why) {
    board_->fault_met = fs.fired();
    // A failure without an injected cause is a bug.
    if (!board_->fault_met && !board_->power_lost) {
      const std::string bytes =
          encode({.kind = Event::Kind::Problem, .now = now_, .bytes = "it failed unasked: " + why});
      pipe.send_bytes(bytes.data(), bytes.size());
    }
    ::_exit(exit_failed);
  }

  void serve(uint64_t seed, const End& end, const store::Pipe& pipe) {
    history_.set_sink([&pipe](const Event& event) {
      const std::string bytes = encode(event);
      pipe.send_bytes(bytes.data(), bytes.size());
    });
    std::mt19937_64 random(seed);
    const auto fs = std::make_shared<FaultFs>(rocksdb::FileSystem::Default());
    const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(fs);
    fs->trace_to(trace_);
    fs->forget_entries(graves_);
    if (plan_.disk_lies) fs->lie_about_syncs(".log");
    prepare(*fs, end, *board_);
    store::Options options{.data_dir = dir_.data_dir(),
                           .durability = plan_.durability,
                           .sync_interval_ms = 1,
                           // Small, so that tables are written all the time.
                           .log_bytes_max = 16 << 10,
                           .env = env.get()};
    options.events.info = [this](std::string_view at, std::string_view) {
      if (at == "store.log_cut") ++board_->logs_truncated;
      if (at == "store.manifest_cut") ++board_->manifests_truncated;
    };
    options.events.fatal = [&](const Status& why) { fail(pipe, *fs, why.message()); };
    StoreDisk disk(options);
    Server server(draw_options(random), disk, history_, now_);
    if (const Status started = server.start(); !started.ok()) {
      fail(pipe, *fs, started.message());
    }
    const int steps = 30 + static_cast<int>(random() % 150);
    if (plan_.has_schedules) {
      if (const std::string wrong = wrong_with_schedules(server.image()); !wrong.empty()) {
        history_.add({.kind = Event::Kind::Problem, .now = now_, .bytes = wrong});
      }
      drive_schedules(server, history_, random, steps);
    } else {
      Clients clients(random());
      simulation::drive(server, history_, clients, random, steps, conn_);
    }
    if (!server.failure().ok()) fail(pipe, *fs, server.failure().message());
    if (!history_.problem().empty()) ::_exit(0);
    finish(server, *fs, end, random, pipe);
  }

  // The server reached the end of its steps without a fault.
  void finish(Server& server, FaultFs& fs, const End& end, std::mt19937_64& random,
              const store::Pipe& pipe) {
    board_->fault_met = fs.fired();
    if (end.kind == End::Kind::PowerCut && random() % 2 == 0) {
      board_->power_lost = true;
      fs.lose_power(end.loss, end.seed);
    } else if (end.kind != End::Kind::Stop && random() % 2 == 0) {
      board_->killed = true;
    } else if (const Status stopped = server.stop(); !stopped.ok()) {
      fail(pipe, fs, stopped.message());
    }
    ::_exit(0);
  }

  std::string lose_log_of_copy(uint64_t seed, Figures& figures) const {
    bool is_refused = false;
    std::string problem = lose_log(
        {.data_dir = dir_.data_dir(), .copy = dir_.path() + "/copy", .seed = seed}, is_refused);
    ++figures.logs_lost;
    figures.losses_refused += is_refused ? 1 : 0;
    return problem.empty() ? "" : "a log lost its end: " + problem;
  }

  void count(Figures& figures, const store::ChildEnd& child) const {
    figures.faults += board_->fault_met ? 1 : 0;
    figures.power_cuts += board_->power_lost ? 1 : 0;
    figures.logs_truncated += board_->logs_truncated;
    figures.manifests_truncated += board_->manifests_truncated;
    const bool is_kill = board_->killed || child.exit_code == exit_failed;
    figures.kills += is_kill && !board_->power_lost ? 1 : 0;
    figures.clean_restarts += !is_kill && !board_->power_lost ? 1 : 0;
  }

  std::string judge(const store::ChildEnd& child, bool opened) const {
    if (!history_.problem().empty()) return history_.problem();
    // RocksDB aborts on an error in some places of DB::Open. Such an abort counts as a refusal.
    const bool may_abort = !opened && child.signal == SIGABRT;
    if (child.signal != 0 && !may_abort) return fmt::format("ended by signal {}", child.signal);
    return "";
  }

  std::string last_calls() const {
    std::ifstream file(trace_);
    std::deque<std::string> lines;
    for (std::string line; std::getline(file, line);) {
      lines.push_back(line);
      if (lines.size() > 60) lines.pop_front();
    }
    std::string text = "the last file calls:\n";
    for (const std::string& line : lines) text += "  " + line + "\n";
    return text;
  }

  const StoreRun plan_;
  const store::TempDir dir_;
  const std::string graves_ = dir_.path() + "/graves";
  const std::string trace_ = dir_.path() + "/trace";
  History history_;
  Board* board_;
  Nanos now_ = first_now;
  ConnId conn_ = 0;
};

}  // namespace

std::string run(const StoreRun& plan, Figures& figures) {
  std::mt19937_64 random(plan.seed);
  Machine machine(plan);
  ++figures.runs;
  for (int server_number = 0; server_number <= servers_per_run; ++server_number) {
    const End end = server_number == servers_per_run ? End{} : draw_end(random);
    std::string problem = machine.run_server(random(), end, figures);
    if (!problem.empty()) return fmt::format("life {}: {}", server_number, problem);
  }
  figures.given_up += machine.given_up();
  figures.answers += machine.answers();
  return "";
}

}  // namespace perennial::simulation
