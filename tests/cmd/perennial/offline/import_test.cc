// Imports a binlog that a real beanstalkd wrote under load, with compaction, several files and a
// kill -9 at the end. perenniald must then report for each job what beanstalkd reports after its
// own restart.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cmd/perennial/offline/commands.h"
#include "engine/types/basic.h"
#include "tests/migrations/binlog_writer.h"
#include "tests/support/seed.h"
#include "tests/support/server_process.h"
#include "tests/support/temp_dir.h"

namespace perennial::tool {
namespace {

namespace fs = std::filesystem;
using support::ClientSocket;
using support::Program;
using support::ServerProcess;

constexpr int commands = 6000;

class Load {
 public:
  explicit Load(ClientSocket& client) : client_(client), random_(support::seed()) {}

  // Keeps few jobs, so that old files become empty and beanstalkd moves the remaining jobs.
  void run() {
    ask("watch a\r\n");
    ask("watch b\r\n");
    for (int i = 0; i < commands; ++i) ask(command());
  }
  JobId last_id() const { return last_id_; }

 private:
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  JobId some_id() { return last_id_ < 60 ? 1 : last_id_ - below(60); }
  uint32_t delay() { return below(3) == 0 ? 10'000 + below(1000) : 0; }

  std::string command() {
    switch (below(12)) {
      case 0:
        return fmt::format("use {}\r\n", std::vector<std::string>{"default", "a", "b"}[below(3)]);
      case 1:
      case 2:
      case 3: {
        const std::string body(below(400), static_cast<char>('a' + below(26)));
        return fmt::format("put {} {} {} {}\r\n{}\r\n", below(5000), delay(), 1000 + below(9),
                           body.size(), body);
      }
      case 4:
        return "reserve-with-timeout 0\r\n";
      case 5:
        return fmt::format("release {} {} {}\r\n", held(), below(5000), 10'000 + below(1000));
      case 6:
        return fmt::format("bury {} {}\r\n", held(), below(5000));
      case 7:
        return fmt::format("kick {}\r\n", below(3));
      default:
        return fmt::format("delete {}\r\n", some_id());
    }
  }
  JobId held() {
    return held_.empty() ? some_id() : held_[below(static_cast<uint32_t>(held_.size()))];
  }

  void ask(const std::string& line) {
    const Result<std::string> reply = client_.ask(line);
    ASSERT_TRUE(reply.ok()) << reply.status().message();
    unsigned long long id = 0;
    if (std::sscanf(reply->c_str(), "INSERTED %llu", &id) == 1) last_id_ = id;
    if (std::sscanf(reply->c_str(), "RESERVED %llu", &id) == 1) held_.push_back(id);
  }

  ClientSocket& client_;
  std::mt19937_64 random_;
  std::vector<JobId> held_;
  JobId last_id_ = 0;
};

// The statistics of a job without intended differences: the age, the time left, the quotes of 1.13,
// and `buries`, which beanstalkd increments for each buried job when it starts.
std::string describe(ClientSocket& client, JobId id) {
  const Result<std::string> stats = client.ask(fmt::format("stats-job {}\r\n", id));
  const Result<std::string> body = client.ask(fmt::format("peek {}\r\n", id));
  if (!stats.ok() || !body.ok()) return "no answer";
  std::string out;
  std::string rest = *stats;
  for (size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
    std::string line = rest.substr(0, end);
    rest.erase(0, end + 1);
    std::erase(line, '"');
    const std::string key = line.substr(0, line.find(':'));
    const bool differs = key == "age" || key == "time-left" || key == "buries" || key == "file" ||
                         line.starts_with("OK ");
    if (!differs) out += line + "\n";
  }
  return out + *body;
}

TEST(ImportBinlog, HasTheJobsThatBeanstalkdHasAfterARestart) {
  ServerProcess theirs({.program = Program::Beanstalkd, .flags = {"-s", "20480", "-f", "0"}});
  const Status found = theirs.start();
  ASSERT_TRUE(found.ok()) << found.message();
  JobId last_id = 0;
  {
    ClientSocket client = theirs.connect();
    Load load(client);
    load.run();
    last_id = load.last_id();
  }
  ASSERT_TRUE(theirs.kill_now().ok());
  const std::string copy = theirs.dir() + "/copy";
  fs::copy(theirs.data_dir(), copy);
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(copy)) {
    files += entry.path().filename().string().starts_with("binlog.");
  }
  EXPECT_GT(files, 2u);

  ServerProcess ours;
  const Status imported = import_binlog({.from = copy, .to = ours.data_dir(), .json = true});
  ASSERT_TRUE(imported.ok()) << imported.message();
  ASSERT_TRUE(theirs.start().ok());
  // So that its replies have no key that beanstalkd's do not have.
  const std::string config = ours.dir() + "/config";
  std::ofstream(config) << "extensions: none\n";
  ours.setup().flags = {"--config", config};
  const Status started = ours.start();
  ASSERT_TRUE(started.ok()) << started.message();
  ClientSocket their_client = theirs.connect();
  ClientSocket our_client = ours.connect();
  size_t jobs = 0;
  for (JobId id = 1; id <= last_id; ++id) {
    const std::string wanted = describe(their_client, id);
    jobs += wanted.find("FOUND") != std::string::npos;
    ASSERT_EQ(describe(our_client, id), wanted) << "seed " << support::seed();
  }
  EXPECT_GT(jobs, 50u);
  const Result<std::string> next = our_client.ask("put 0 0 1 0\r\n\r\n");
  EXPECT_EQ(*next, fmt::format("INSERTED {}\r\n", last_id + 1));
}

// A copy that was cut short ends within a record. A crash never does: it leaves zeros.
TEST(ImportBinlog, ACutFileNeedsSkipDamaged) {
  const support::TempDir dir;
  migrations::BinlogBytes bytes(7);
  for (JobId id = 1; id <= 100; ++id) bytes.add({.id = id, .tube = "mail", .body = "body"});
  const std::string from = dir.path() + "/from";
  fs::create_directory(from);
  const auto write = [&](const std::string& content) {
    std::ofstream(from + "/binlog.1", std::ios::binary) << content;
  };
  const std::string cut = bytes.bytes().substr(0, bytes.bytes().size() / 3);
  const std::string to = dir.path() + "/to";
  write(cut);
  for (const bool dry_run : {true, false}) {
    const Status refused = import_binlog({.from = from, .to = to, .dry_run = dry_run});
    EXPECT_EQ(refused.code(), StatusCode::Corruption);
    EXPECT_NE(refused.message().find("binlog.1 at byte "), std::string::npos);
    EXPECT_NE(refused.message().find(" 33 jobs could be read"), std::string::npos)
        << refused.message();
    EXPECT_FALSE(fs::exists(to));
  }
  EXPECT_TRUE(import_binlog({.from = from, .to = to, .skip_damaged = true}).ok());
  EXPECT_TRUE(fs::exists(to));
  // As a crash leaves it.
  write(bytes.zeros(5000).bytes());
  EXPECT_TRUE(import_binlog({.from = from, .to = to + "2"}).ok());
}

}  // namespace
}  // namespace perennial::tool
