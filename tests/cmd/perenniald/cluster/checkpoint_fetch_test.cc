#include "cmd/perenniald/cluster/checkpoint_fetch.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <archive.h>
#include <archive_entry.h>
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/perenniald/cluster/tar_writer.h"
#include "store/checkpoint/checkpoint.h"
#include "tests/store/checkpoint/checkpoint_maker.h"
#include "tests/support/seed.h"

namespace perennial::perenniald {
namespace {

using testing::HasSubstr;

// Answers one request with these bytes, and then closes the connection.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer)
      : answer_(std::move(answer)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, any, size), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    EXPECT_EQ(::getsockname(listener_, any, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~OneAnswer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/c"; }
  // After it was answered.
  const std::string& request() const { return request_; }

 private:
  void serve() {
    const int client = ::accept(listener_, nullptr, nullptr);
    if (client < 0) return;
    char bytes[4096];
    while (request_.find("\r\n\r\n") == std::string::npos) {
      const ssize_t count = ::recv(client, bytes, sizeof bytes, 0);
      if (count <= 0) break;
      request_.append(bytes, static_cast<size_t>(count));
    }
    for (size_t sent = 0; sent < answer_.size();) {
      const ssize_t count =
          ::send(client, answer_.data() + sent, answer_.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) break;
      sent += static_cast<size_t>(count);
    }
    ::close(client);
  }

  const std::string answer_;
  const int listener_;
  uint16_t port_ = 0;
  std::string request_;
  std::thread thread_;
};

std::string ok(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What a sender may write into a tar.
struct TarEntry {
  std::string name;
  std::string content = {};
  unsigned type = AE_IFREG;
  std::string link = {};  // Not empty: a hard link to this name.
};

la_ssize_t append(archive*, void* to, const void* bytes, size_t count) {
  static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), count);
  return static_cast<la_ssize_t>(count);
}

std::string tar_of(const std::vector<TarEntry>& entries) {
  std::string out;
  archive* const tar = archive_write_new();
  archive_write_set_format_pax_restricted(tar);
  archive_write_open(tar, &out, nullptr, append, nullptr);
  for (const TarEntry& each : entries) {
    archive_entry* const entry = archive_entry_new();
    archive_entry_set_pathname(entry, each.name.c_str());
    archive_entry_set_filetype(entry, each.type);
    archive_entry_set_perm(entry, 0600);
    archive_entry_set_size(entry, static_cast<int64_t>(each.content.size()));
    if (each.type == AE_IFLNK) archive_entry_set_symlink(entry, "/etc/passwd");
    if (!each.link.empty()) archive_entry_set_hardlink(entry, each.link.c_str());
    EXPECT_EQ(archive_write_header(tar, entry), ARCHIVE_OK) << archive_error_string(tar);
    archive_write_data(tar, each.content.data(), each.content.size());
    archive_entry_free(entry);
  }
  archive_write_close(tar);
  archive_write_free(tar);
  return out;
}

class CheckpointFetch : public testing::Test {
 protected:
  void SetUp() override {
    maker_.write(20);
    const Result<store::CheckpointManifest> made = maker_.make();
    ASSERT_TRUE(made.ok()) << made.status().message();
    manifest_ = *made;
    entries_.push_back({"manifest.json", content_of(maker_.path() + "/manifest.json")});
    for (const store::CheckpointFile& file : manifest_.files) {
      entries_.push_back({"db/" + file.name, content_of(maker_.path() + "/db/" + file.name)});
    }
  }

  // What TarWriter makes of the checkpoint.
  std::string good_tar() const {
    std::string out;
    TarWriter tar([&out](const std::string& piece) {
      out += piece;
      return true;
    });
    for (const TarEntry& entry : entries_) {
      const Status added = tar.add(maker_.path() + "/" + entry.name, entry.name);
      EXPECT_TRUE(added.ok()) << added.message();
    }
    const Status done = tar.finish();
    EXPECT_TRUE(done.ok()) << done.message();
    return out;
  }
  std::string to() const { return maker_.dir() + "/fetched"; }
  Status fetch(const std::string& answer) {
    const OneAnswer server(answer);
    return fetch_checkpoint({.url = server.url(), .to = to()});
  }
  void expect_refused(const std::string& tar, StatusCode code, const std::string& message) {
    const Status refused = fetch(ok(tar));
    EXPECT_EQ(refused.code(), code) << refused.message();
    EXPECT_THAT(refused.message(), HasSubstr(message));
    EXPECT_FALSE(std::filesystem::exists(to()));
  }

  store::CheckpointMaker maker_{support::seed()};
  store::CheckpointManifest manifest_;
  std::vector<TarEntry> entries_;
};

TEST_F(CheckpointFetch, MakesWhatWasSent) {
  const Status done = fetch(ok(good_tar()));
  ASSERT_TRUE(done.ok()) << done.message();
  const Result<store::CheckpointManifest> found = store::verify_checkpoint(to());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->files, manifest_.files);
}

TEST_F(CheckpointFetch, ShowsItsTokenAndNoOtherSecret) {
  OneAnswer server(ok(good_tar()));
  const Status done = fetch_checkpoint({.url = server.url(), .token = "secret", .to = to()});
  ASSERT_TRUE(done.ok()) << done.message();
  EXPECT_THAT(server.request(), HasSubstr("Authorization: Bearer secret\r\n"));
}

TEST_F(CheckpointFetch, RefusesWhatIsNotInTheManifest) {
  const std::string first = "db/" + manifest_.files.front().name;
  struct Case {
    const char* name;
    TarEntry entry;  // Behind the manifest.
    std::string message;
  };
  const Case cases[] = {
      {"Absolute", {"/etc/passwd", "x"}, "'/etc/passwd' of 1 bytes is not in the manifest"},
      {"Upwards", {"db/../../x", "x"}, "'db/../../x' of 1 bytes is not in the manifest"},
      {"Unknown", {"db/other", "x"}, "'db/other' of 1 bytes is not in the manifest"},
      {"OtherSize", {first, std::string(100'000, 'x')}, "of 100000 bytes is not in the manifest"},
      {"SecondManifest", entries_.front(), "'manifest.json' of"},
      {"Symlink", {first, "", AE_IFLNK}, "is no file"},
      {"HardLink", {first, "", AE_IFREG, "/etc/passwd"}, "is no file"},
      {"Directory", {"db", "", AE_IFDIR}, "is no file"},
      {"Device", {first, "", AE_IFCHR}, "is no file"},
      {"Pipe", {first, "", AE_IFIFO}, "is no file"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    expect_refused(tar_of({entries_.front(), c.entry}), StatusCode::Corruption, c.message);
  }
}

TEST_F(CheckpointFetch, RefusesWhatIsNotWhole) {
  std::vector<TarEntry> entries = entries_;
  entries.pop_back();
  expect_refused(tar_of(entries), StatusCode::Corruption, "not the whole checkpoint");
  entries = entries_;
  entries.push_back(entries_[1]);
  expect_refused(tar_of(entries), StatusCode::Corruption, "comes twice");
  std::swap(entries[0], entries[1]);
  expect_refused(tar_of(entries), StatusCode::Corruption, "comes before the manifest");
  expect_refused("", StatusCode::Corruption, "the begin: ");
  expect_refused(std::string(10'000, 'x'), StatusCode::Corruption, "the begin: ");
  const std::string tar = good_tar();
  for (const size_t bytes : {size_t{100}, size_t{700}, tar.size() / 2}) {
    expect_refused(tar.substr(0, bytes), StatusCode::Corruption, "");
  }
}

TEST_F(CheckpointFetch, RefusesAChangedManifest) {
  entries_.front().content[20] ^= 1;
  expect_refused(tar_of(entries_), StatusCode::Corruption, "manifest");
}

TEST_F(CheckpointFetch, SaysWhyThereIsNoAnswer) {
  const Status busy = fetch("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(busy.code(), StatusCode::Io);
  EXPECT_THAT(busy.message(), HasSubstr("503"));
  const std::string tar = good_tar();
  const Status broken =
      fetch("HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n" + tar.substr(0, tar.size() / 2));
  EXPECT_EQ(broken.code(), StatusCode::Io) << broken.message();
  const Status refused = fetch_checkpoint({.url = "http://127.0.0.1:1/c", .to = to()});
  EXPECT_EQ(refused.code(), StatusCode::Io);
  EXPECT_FALSE(std::filesystem::exists(to()));
}

TEST_F(CheckpointFetch, EndsWhenItIsAsked) {
  const OneAnswer server(ok(good_tar()));
  const Status ended =
      fetch_checkpoint({.url = server.url(), .to = to(), .cancelled = [] { return true; }});
  EXPECT_EQ(ended.code(), StatusCode::Io);
  EXPECT_THAT(ended.message(), HasSubstr("asked to stop"));
  EXPECT_FALSE(std::filesystem::exists(to()));
}

}  // namespace
}  // namespace perennial::perenniald
