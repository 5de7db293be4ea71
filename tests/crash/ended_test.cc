// Kills a real server while jobs of a tube that keeps what ends are put, deleted, flushed and put
// back, while they expire, and while they go by number and by time. After each restart every job
// that was acknowledged is in exactly one place: it is there, or it has ended and is kept, with its
// body. What was answered last of a job says which of the two. Two clients that ask for the same
// job get it once.
//
// Kills come while these are under way: delete, delete-batch, flush-tube, expiry, restore-job,
// restore-tube with several pages, removal by keep-max and removal by keep. The load has
// priorities, delays, keys, tries, notes and expiries; time is that of the machine, and the bounds
// of what has expired and what is over are those of this machine's clock. Doors: the port for
// clients. It is blind to power cuts, which the simulation has, and to damage.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/offline/check.h"
#include "tests/support/reply_text.h"
#include "tests/support/server_process.h"

namespace perennial::crash {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kills = 8;
constexpr int steps_per_life = 3'000;

// A job, which keeps its body through all its ends and returns. Its id is the newest one.
struct Known {
  JobId id = 0;  // 0: the put was not acknowledged.
  bool has_ended = false;
  bool is_open = false;  // The last command about it was not answered: both may be true.
};

// The number behind a field of each line of a listing, such as " id: ".
std::vector<JobId> ids_of(const std::string& page) {
  constexpr std::string_view key = "{id: ";
  std::vector<JobId> ids;
  for (size_t at = page.find(key); at != std::string::npos; at = page.find(key, at + 1))
    ids.push_back(std::stoull(page.substr(at + key.size())));
  return ids;
}

class EndedJobs : public testing::Test {
 protected:
  void SetUp() override {
    start();
    support::ClientSocket client = server_.connect();
    ASSERT_EQ(*client.ask("set-tube e keep:3600\r\n"), "SET\r\n");
  }
  void start() {
    const Status started = server_.start();
    ASSERT_TRUE(started.ok()) << started.message();
  }
  // Kills the server at some time while `work` runs, and starts it again.
  template <typename Work>
  void kill_during(Work work, std::chrono::milliseconds later = {}) {
    support::ClientSocket client = server_.connect();
    std::thread killer([&] {
      std::this_thread::sleep_for(later + std::chrono::milliseconds(1 + random_() % 200));
      server_.signal(SIGKILL);
    });
    work(client);
    killer.join();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(server_.wait(30'000).ok());
    start();
  }

  static std::string body_of(uint64_t number) { return fmt::format("job {}", number); }
  static std::string put_line(uint64_t number) {
    const std::string body = body_of(number);
    return fmt::format("put {} {} 60 {} tube:e tries:3{}\r\n{}\r\n", number % 5,
                       number % 7 == 0 ? 3600 : 0, body.size(),
                       number % 3 == 0 ? fmt::format(" idp:k{}", number) : "", body);
  }

  // Each returns whether it was answered.
  bool put(support::ClientSocket& client) {
    const uint64_t number = ++last_number_;
    Known& known = jobs_[number];
    known.is_open = true;
    const Result<std::string> reply = client.ask(put_line(number));
    if (!reply.ok()) return false;
    known = {.id = std::stoull(reply->substr(reply->find(' ')))};
    if (number % 4 != 0) return true;
    const std::string note = fmt::format("note {} 4\r\nwhy?\r\n", known.id);
    return client.ask(note).ok();
  }
  bool end(support::ClientSocket& client, Known& known) {
    known.is_open = true;
    const Result<std::string> reply = client.ask(fmt::format("delete {}\r\n", known.id));
    if (!reply.ok()) return false;
    EXPECT_EQ(*reply, "DELETED\r\n");
    known.has_ended = true;
    known.is_open = false;
    return true;
  }
  bool restore(support::ClientSocket& client, Known& known) {
    known.is_open = true;
    const Result<std::string> reply = client.ask(fmt::format("restore-job {}\r\n", known.id));
    if (!reply.ok()) return false;
    EXPECT_TRUE(reply->starts_with("INSERTED ")) << *reply;
    known = {.id = std::stoull(reply->substr(reply->find(' ')))};
    return true;
  }
  bool flush_or_restore(support::ClientSocket& client, bool flushes) {
    for (auto& [number, known] : jobs_) {
      if (known.id != 0 && known.has_ended != flushes) known.is_open = true;
    }
    const Result<std::string> reply =
        client.ask(flushes ? "flush-tube e\r\n" : "restore-tube e how:flushed,deleted\r\n", 60'000);
    if (!reply.ok()) return false;
    EXPECT_TRUE(reply->starts_with(flushes ? "FLUSHED " : "RESTORED ")) << *reply;
    return true;
  }
  void work(support::ClientSocket& client);
  void judge();
  void collect(support::ClientSocket& client, bool ended);
  void expect_sound() {
    ASSERT_TRUE(server_.terminate().ok());
    std::string faults;
    const auto checked = store::check_directory(
        {.path = server_.data_dir(), .deep = true, .fault = [&](const store::Fault& fault) {
           faults += fault.what + "\n";
         }});
    ASSERT_TRUE(checked.ok()) << checked.status().message();
    EXPECT_EQ(faults, "");
  }

  support::ServerProcess server_{{.program = support::Program::Perenniald}};
  std::mt19937_64 random_{std::random_device{}()};
  std::map<uint64_t, Known> jobs_;
  uint64_t last_number_ = 0;
  std::map<std::string, Known> found_;  // By body.
};

// Goes on until the server is gone. A walk over the whole tube is the last that is done in a life,
// because its answer does not say which jobs it took.
void EndedJobs::work(support::ClientSocket& client) {
  for (int step = 0; step < steps_per_life; ++step) {
    const uint64_t number = 1 + random_() % (last_number_ + 20);
    const auto job = jobs_.find(number);
    if (job == jobs_.end()) {
      if (!put(client)) return;
    } else if (job->second.id == 0 || job->second.is_open) {
      continue;
    } else if (job->second.has_ended ? !restore(client, job->second) : !end(client, job->second)) {
      return;
    }
    if (step > 100 && random_() % 200 == 0) {
      flush_or_restore(client, random_() % 2 == 0);
      return;
    }
  }
}

// Pages of those that are there, or of those that have ended.
void EndedJobs::collect(support::ClientSocket& client, bool ended) {
  uint64_t cursor = 0;
  do {
    const Result<std::string> page = client.ask(
        fmt::format("list-jobs e {}after:{} count:1000\r\n", ended ? "state:ended " : "", cursor));
    ASSERT_TRUE(page.ok());
    if (*page == "NOT_FOUND\r\n") return;
    cursor = support::yaml_number(*page, "cursor");
    for (const JobId id : ids_of(*page)) {
      const Result<std::string> reply =
          client.ask(fmt::format("{} {}\r\n", ended ? "peek-ended" : "peek", id));
      ASSERT_TRUE(reply.ok());
      ASSERT_TRUE(reply->starts_with("FOUND ")) << id << ": " << *reply;
      const std::string body(support::body_in(*reply));
      ASSERT_TRUE(found_.emplace(body, Known{.id = id, .has_ended = ended}).second)
          << body << " is there twice";
    }
  } while (cursor != 0);
}

void EndedJobs::judge() {
  support::ClientSocket client = server_.connect();
  found_.clear();
  collect(client, false);
  if (HasFatalFailure()) return;
  collect(client, true);
  if (HasFatalFailure()) return;
  for (auto& [number, known] : jobs_) {
    const auto found = found_.find(body_of(number));
    if (found == found_.end()) {
      ASSERT_TRUE(known.id == 0) << "job " << number << " (id " << known.id << ") is lost";
      continue;
    }
    if (!known.is_open && known.id != 0) {
      ASSERT_EQ(found->second.has_ended, known.has_ended) << "job " << number;
      ASSERT_EQ(found->second.id, known.id) << "job " << number;
    }
    known = found->second;
    found_.erase(found);
  }
  ASSERT_TRUE(found_.empty()) << found_.begin()->first << " was never put";
}

TEST_F(EndedJobs, AreThereOrHaveEndedAfterEachKill) {
  for (int kill = 0; kill < kills; ++kill) {
    kill_during([this](support::ClientSocket& client) { work(client); });
    ASSERT_FALSE(HasFatalFailure());
    judge();
    ASSERT_FALSE(HasFatalFailure());
  }
  expect_sound();
}

TEST_F(EndedJobs, AreAllBackAfterARestoreThatWasKilled) {
  support::ClientSocket client = server_.connect();
  for (int i = 0; i < 2'000; ++i) ASSERT_TRUE(put(client));
  ASSERT_EQ(*client.ask("flush-tube e\r\n"), "FLUSHED 2000\r\n");
  for (auto& [number, known] : jobs_) known.has_ended = true;
  for (int kill = 0; kill < 3; ++kill) {
    kill_during([this](support::ClientSocket& again) { flush_or_restore(again, false); });
    ASSERT_FALSE(HasFatalFailure());
    judge();
    ASSERT_FALSE(HasFatalFailure());
  }
  support::ClientSocket last = server_.connect();
  ASSERT_TRUE(flush_or_restore(last, false));
  judge();
  for (const auto& [number, known] : jobs_) EXPECT_FALSE(known.has_ended) << number;
  expect_sound();
}

// Each gets a job, or learns that another one has it.
TEST_F(EndedJobs, AreBackOnceWhoeverAsks) {
  support::ClientSocket client = server_.connect();
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(put(client));
  ASSERT_EQ(*client.ask("flush-tube e\r\n"), "FLUSHED 300\r\n");
  std::map<std::string, int> answers;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      support::ClientSocket mine = server_.connect();
      for (JobId id = 1; id <= 300; ++id) {
        const bool walks = i == 3 && id == 150;
        const Result<std::string> reply =
            mine.ask(walks ? "restore-tube e\r\n" : fmt::format("restore-job {}\r\n", id), 60'000);
        const std::string word = reply.ok() ? reply->substr(0, reply->find_first_of(" \r")) : "-";
        const int count = word == "RESTORED" ? std::stoi(reply->substr(9)) : 1;
        const std::lock_guard lock(mutex);
        answers[word] += count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answers["INSERTED"] + answers["RESTORED"], 300);
  EXPECT_EQ(answers["-"], 0);
  for (auto& [number, known] : jobs_) known.is_open = true;
  judge();
  expect_sound();
}

// By number, under kills. What is over it goes, and its rows and bodies with it.
TEST_F(EndedJobs, GoByNumber) {
  support::ClientSocket first = server_.connect();
  ASSERT_EQ(*first.ask("set-tube e keep:- keep-max:100\r\n"), "SET\r\n");
  for (int kill = 0; kill < 4; ++kill) {
    kill_during([this](support::ClientSocket& client) {
      for (int i = 0; i < 100; ++i) {
        std::string items;
        for (int item = 0; item < 50; ++item) {
          items += fmt::format("{}0 0 60 1\r\nx", item > 0 ? "\r\n" : "");
        }
        const std::string line = fmt::format("put-batch 50 {} tube:e\r\n", items.size());
        if (!client.ask(line + items + "\r\n").ok()) return;
        std::string ids;
        for (int item = 0; item < 50; ++item) {
          const Result<std::string> reply = client.read_reply();
          if (!reply.ok()) return;
          ids += reply->substr(8, reply->find('\r') - 8);
        }
        if (!client.ask(fmt::format("delete-batch{}\r\n", ids)).ok()) return;
        last_number_ += 50;
      }
    });
    ASSERT_FALSE(HasFatalFailure());
    support::ClientSocket client = server_.connect();
    const Result<std::string> page = client.ask("list-jobs e state:ended count:1000\r\n");
    ASSERT_TRUE(page.ok());
    EXPECT_LE(ids_of(*page).size(), 100U);
  }
  ASSERT_GT(last_number_, 200U);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  ASSERT_TRUE(server_.terminate().ok());
  const auto checked = store::check_directory({.path = server_.data_dir(), .deep = true});
  ASSERT_TRUE(checked.ok());
  EXPECT_EQ(checked->faults, 0U);
  EXPECT_LE(checked->ended, 100U);
}

// A job that expires, is kept for a while, and may be put back in that time. Whoever asks is told
// where it is. It is over two times later, and not before.
struct Expiring {
  JobId id = 0;  // 0: the put was not acknowledged.
  Clock::time_point sent = {};
  bool is_back = false;  // It was put back, and does not expire again.
  bool is_open = false;  // Its return was asked for, and not acknowledged.
};

class ExpiringJobs : public EndedJobs {
 protected:
  static constexpr std::chrono::seconds expires{1};
  static constexpr std::chrono::seconds kept{3};
  static constexpr std::chrono::milliseconds margin{500};

  // Puts jobs, and puts some back that have expired, until the server is gone.
  void work_expiring(support::ClientSocket& client) {
    while (true) {
      const uint64_t number = ++last_number_;
      Expiring& job = expiring_[number];
      job.sent = Clock::now();
      const std::string body = body_of(number);
      const Result<std::string> put =
          client.ask(fmt::format("put 0 0 60 {} tube:x expire:1\r\n{}\r\n", body.size(), body));
      if (!put.ok()) return;
      job.id = std::stoull(put->substr(put->find(' ')));
      if (number % 4 == 0 && put_back(client, any())) return;
    }
  }
  Expiring& any() {
    const uint64_t first = expiring_.begin()->first;
    return expiring_.lower_bound(first + random_() % (last_number_ - first + 1))->second;
  }
  // Returns whether the server is gone. NOT_FOUND is no news: it has not expired, or is over.
  bool put_back(support::ClientSocket& client, Expiring& job) {
    if (job.id == 0 || job.is_back || job.is_open) return false;
    job.is_open = true;
    const Result<std::string> reply = client.ask(fmt::format("restore-job {}\r\n", job.id));
    if (!reply.ok()) return true;
    job.is_open = false;
    if (*reply == "NOT_FOUND\r\n") return false;
    EXPECT_TRUE(reply->starts_with("INSERTED ")) << *reply;
    job.is_back = true;
    job.id = std::stoull(reply->substr(reply->find(' ')));
    return false;
  }
  void judge_expiring();

  std::map<uint64_t, Expiring> expiring_;
};

// The jobs are looked for one by one, since they expire meanwhile: first where they come from.
void ExpiringJobs::judge_expiring() {
  support::ClientSocket client = server_.connect();
  for (auto& each : expiring_) {
    const uint64_t number = each.first;
    Expiring& job = each.second;
    if (job.id == 0) continue;
    const auto is_answered_found = [&](const char* command) {
      const Result<std::string> reply = client.ask(fmt::format("{} {}\r\n", command, job.id));
      EXPECT_TRUE(reply.ok());
      const bool is_found = reply.ok() && reply->starts_with("FOUND ");
      if (is_found) {
        EXPECT_EQ(support::body_in(*reply), body_of(number));
      }
      return is_found;
    };
    const bool was_there = is_answered_found("peek");
    const bool has_ended = is_answered_found("peek-ended");
    const bool is_there = is_answered_found("peek");
    ASSERT_FALSE(is_there && has_ended) << "job " << number << " is in two places";
    if (job.is_back) {
      ASSERT_TRUE(is_there && was_there) << "job " << number << " was put back and is lost";
    } else if (!job.is_open && Clock::now() - job.sent < expires + kept - margin) {
      ASSERT_TRUE(was_there || has_ended) << "job " << number << " is lost";
    }
  }
  std::erase_if(expiring_, [](const auto& one) {
    return !one.second.is_back && Clock::now() - one.second.sent > 2 * (expires + kept);
  });
}

TEST_F(ExpiringJobs, AreKeptForTheirTimeAndThenGo) {
  support::ClientSocket first = server_.connect();
  ASSERT_EQ(*first.ask("set-tube x keep:3\r\n"), "SET\r\n");
  for (int kill = 0; kill < kills; ++kill) {
    // Late enough that jobs expire and go while the next life works.
    const auto wait = std::chrono::milliseconds(random_() % 1'500);
    kill_during([this](support::ClientSocket& client) { work_expiring(client); }, wait);
    ASSERT_FALSE(HasFatalFailure());
    judge_expiring();
    ASSERT_FALSE(HasFatalFailure());
  }
  const auto back =
      std::ranges::count_if(expiring_, [](const auto& job) { return job.second.is_back; });
  std::this_thread::sleep_for(expires + kept + std::chrono::seconds(3));
  judge_expiring();
  ASSERT_TRUE(server_.terminate().ok());
  const auto checked = store::check_directory({.path = server_.data_dir(), .deep = true});
  ASSERT_TRUE(checked.ok());
  EXPECT_EQ(checked->faults, 0U);
  EXPECT_EQ(checked->ended, 0U);
  EXPECT_GT(back, 0);
  fmt::print("{} jobs, {} put back\n", last_number_, back);
}

}  // namespace
}  // namespace perennial::crash
