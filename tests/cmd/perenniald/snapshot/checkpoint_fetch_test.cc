#include "cmd/perenniald/snapshot/checkpoint_fetch.h"

#include <filesystem>
#include <fstream>
#include <functional>
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

#include "cmd/perenniald/snapshot/tar_writer.h"
#include "store/checkpoint/checkpoint.h"
#include "store/checkpoint/checkpoint_manifest.h"
#include "store/disk/hash.h"
#include "tests/store/checkpoint/checkpoint_maker.h"
#include "tests/support/seed.h"

namespace perennial::perenniald {
namespace {

using testing::HasSubstr;
using testing::Not;

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
    list_ = list_of(*made);
    entries_.push_back({"manifest.json", render(list_)});
    for (const store::CheckpointFile& file : manifest_.files) {
      entries_.push_back({"db/" + file.name, content_of(maker_.path() + "/db/" + file.name)});
    }
    entries_.push_back({"manifest.json", render(with_hashes())});
  }

  // What a node sends before and after the files.
  static store::CheckpointManifest list_of(store::CheckpointManifest manifest) {
    manifest.has_counts = false;
    manifest.commit = {.index = manifest.commit.index};
    for (store::CheckpointFile& file : manifest.files) file.hash.clear();
    return manifest;
  }
  store::CheckpointManifest with_hashes() const {
    store::CheckpointManifest whole = list_;
    whole.files = manifest_.files;
    return whole;
  }

  // What TarWriter makes of the checkpoint.
  std::string good_tar() const {
    std::string out;
    TarWriter tar([&out](const std::string& piece) {
      out += piece;
      return true;
    });
    EXPECT_TRUE(tar.add("manifest.json", render(list_)).ok());
    for (const store::CheckpointFile& file : manifest_.files) {
      const std::string name = "db/" + file.name;
      const Result<std::string> added = tar.add_file(maker_.path() + "/" + name, name, file.bytes);
      EXPECT_TRUE(added.ok()) << added.status().message();
      EXPECT_EQ(*added, file.hash);
    }
    EXPECT_TRUE(tar.add("manifest.json", render(with_hashes())).ok());
    const Status done = tar.finish();
    EXPECT_TRUE(done.ok()) << done.message();
    return out;
  }
  std::string to() const { return maker_.dir() + "/fetched"; }
  Status fetch(const std::string& answer) {
    const OneAnswer server(answer);
    const Result<FetchedCheckpoint> fetched = fetch_checkpoint({.url = server.url(), .to = to()});
    return fetched.ok() ? Status() : fetched.status();
  }
  void expect_refused(const std::string& tar, StatusCode code, const std::string& message) {
    const Status refused = fetch(ok(tar));
    EXPECT_EQ(refused.code(), code) << refused.message();
    EXPECT_THAT(refused.message(), HasSubstr(message));
    EXPECT_FALSE(std::filesystem::exists(to()));
  }

  store::CheckpointMaker maker_{support::seed()};
  store::CheckpointManifest manifest_;
  store::CheckpointManifest list_;
  std::vector<TarEntry> entries_;
};

TEST_F(CheckpointFetch, MakesWhatWasSent) {
  const OneAnswer server(ok(good_tar()));
  Result<FetchedCheckpoint> fetched = fetch_checkpoint({.url = server.url(), .to = to()});
  ASSERT_TRUE(fetched.ok()) << fetched.status().message();
  EXPECT_EQ(fetched->manifest.files, manifest_.files);
  EXPECT_TRUE(fetched->files.sync({}).ok());
  for (const store::CheckpointFile& file : manifest_.files) {
    const std::string name = "/db/" + file.name;
    EXPECT_EQ(content_of(to() + name), content_of(maker_.path() + name)) << name;
  }
  const auto found = store::verify_rows(to(), fetched->manifest);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(render(*found), render(manifest_));
}

TEST_F(CheckpointFetch, ShowsItsTokenAndNoOtherSecret) {
  OneAnswer server(ok(good_tar()));
  const std::string token = maker_.dir() + "/token";
  std::ofstream(token) << "secret\nother\n";
  const auto done =
      fetch_checkpoint({.url = server.url(), .access = {.token_file = token}, .to = to()});
  ASSERT_TRUE(done.ok()) << done.status().message();
  EXPECT_THAT(server.request(), HasSubstr("Authorization: Bearer secret\r\n"));
  EXPECT_THAT(server.request(), Not(HasSubstr("other")));
}

TEST_F(CheckpointFetch, AsksNobodyWithoutTheTokenThatItIsToShow) {
  const std::string empty = maker_.dir() + "/empty";
  std::ofstream(empty) << "\nsecret\n";
  for (const std::string& token : {empty, maker_.dir() + "/none"}) {
    const auto done = fetch_checkpoint(
        {.url = "http://127.0.0.1:1/c", .access = {.token_file = token}, .to = to()});
    EXPECT_EQ(done.status().code(), StatusCode::InvalidArgument);
    EXPECT_THAT(done.status().message(), HasSubstr(token + " has no token in its first line"));
  }
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
      {"SecondManifest", entries_.front(), "has not come"},
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
  const auto without = [this](size_t place) {
    std::vector<TarEntry> entries = entries_;
    entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(place));
    return tar_of(entries);
  };
  expect_refused(without(entries_.size() - 1), StatusCode::Corruption, "not the whole checkpoint");
  expect_refused(without(1), StatusCode::Corruption, "'" + entries_[1].name + "' has not come");
  expect_refused(without(0), StatusCode::Corruption, "comes before the manifest");
  std::vector<TarEntry> entries = entries_;
  entries.insert(entries.begin() + 2, entries_[1]);
  expect_refused(tar_of(entries), StatusCode::Corruption, "comes twice");
  entries = entries_;
  entries.push_back(entries_[1]);
  expect_refused(tar_of(entries), StatusCode::Corruption, "comes after the end");
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
  entries_.front().content[20] ^= 1;
  entries_.back().content[20] ^= 1;
  expect_refused(tar_of(entries_), StatusCode::Corruption, "manifest");
}

// A byte of any file that was changed on its way, and a hash that was. In a table RocksDB's
// checksum may find it first, before the hash has come.
TEST_F(CheckpointFetch, RefusesADamagedFile) {
  for (size_t place = 1; place + 1 < entries_.size(); ++place) {
    TarEntry& entry = entries_[place];
    if (entry.content.empty()) continue;
    SCOPED_TRACE(entry.name);
    entry.content[entry.content.size() / 2] ^= 1;
    expect_refused(tar_of(entries_), StatusCode::Corruption, entry.name);
    entry.content[entry.content.size() / 2] ^= 1;
  }
  store::CheckpointManifest other = with_hashes();
  other.files.front().hash = other.files.back().hash;
  entries_.back().content = render(other);
  expect_refused(tar_of(entries_), StatusCode::Corruption,
                 other.files.front().name + " is damaged: its hash is another");
}

// Its hash is right, because the other node has hashed what its disk gave it.
TEST_F(CheckpointFetch, RefusesATableThatWasDamagedAtTheOtherNode) {
  int tables = 0;
  for (size_t place = 1; place + 1 < entries_.size(); ++place) {
    TarEntry& entry = entries_[place];
    if (!entry.name.ends_with(".sst")) continue;
    SCOPED_TRACE(entry.name);
    ++tables;
    entry.content[10] ^= 1;
    store::Hasher hasher;
    hasher.add(entry.content);
    store::CheckpointManifest whole = with_hashes();
    whole.files[place - 1].hash = hasher.hex();
    entries_.back().content = render(whole);
    expect_refused(tar_of(entries_), StatusCode::Corruption, entry.name);
    entry.content[10] ^= 1;
  }
  EXPECT_GT(tables, 0);
}

TEST_F(CheckpointFetch, RefusesAnotherManifestAtTheEnd) {
  struct Case {
    const char* name;
    std::function<void(store::CheckpointManifest&)> change;
  };
  const Case cases[] = {
      {"OtherIndex", [](auto& manifest) { ++manifest.commit.index; }},
      {"FewerFiles", [](auto& manifest) { manifest.files.pop_back(); }},
      {"MoreFiles", [](auto& manifest) { manifest.files.push_back({.name = "z", .hash = "0"}); }},
      {"OtherName", [](auto& manifest) { manifest.files.front().name = "other"; }},
      {"OtherSize", [](auto& manifest) { ++manifest.files.front().bytes; }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    store::CheckpointManifest other = with_hashes();
    c.change(other);
    entries_.back().content = render(other);
    expect_refused(tar_of(entries_), StatusCode::Corruption, "of another checkpoint");
  }
}

TEST_F(CheckpointFetch, RefusesAManifestThatListsWhatIsNoFileOfACopy) {
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../lock"),
        std::string("a/b"), std::string("IDENTITY"), list_.files.front().name}) {
    SCOPED_TRACE(name);
    store::CheckpointManifest other = list_;
    other.files.push_back({.name = name, .hash = {}});
    expect_refused(tar_of({{"manifest.json", render(other)}}), StatusCode::Corruption,
                   "the manifest lists '" + name + "'");
  }
}

TEST_F(CheckpointFetch, RefusesANewerFormatBeforeAnyFileComes) {
  list_.format = store::format_version + 1;
  expect_refused(tar_of({{"manifest.json", render(list_)}}), StatusCode::Unsupported,
                 "only a newer program reads");
}

// More files than may be open at once.
TEST_F(CheckpointFetch, TakesManyFiles) {
  const size_t before = entries_.size();
  entries_.pop_back();
  for (size_t i = 0; i < 2 * CopiedFiles::open_max; ++i) {
    const std::string name = "x" + std::to_string(1000 + i);
    store::Hasher hasher;
    hasher.add(name);
    manifest_.files.push_back({.name = name, .bytes = name.size(), .hash = hasher.hex()});
    entries_.push_back({"db/" + name, name});
  }
  list_ = list_of(manifest_);
  entries_.front().content = render(list_);
  entries_.push_back({"manifest.json", render(with_hashes())});
  ASSERT_GT(entries_.size(), before + CopiedFiles::open_max);
  const Status done = fetch(ok(tar_of(entries_)));
  ASSERT_TRUE(done.ok()) << done.message();
  for (const store::CheckpointFile& file : manifest_.files) {
    EXPECT_EQ(std::filesystem::file_size(to() + "/db/" + file.name), file.bytes) << file.name;
  }
}

TEST_F(CheckpointFetch, SaysWhyThereIsNoAnswer) {
  const Status busy = fetch("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(busy.code(), StatusCode::Io);
  EXPECT_THAT(busy.message(), HasSubstr("503"));
  const std::string tar = good_tar();
  const Status broken =
      fetch("HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n" + tar.substr(0, tar.size() / 2));
  EXPECT_EQ(broken.code(), StatusCode::Io) << broken.message();
  const auto refused = fetch_checkpoint({.url = "http://127.0.0.1:1/c", .to = to()});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::Io);
  EXPECT_FALSE(std::filesystem::exists(to()));
}

TEST_F(CheckpointFetch, EndsWhenItIsAsked) {
  const OneAnswer server(ok(good_tar()));
  const auto ended =
      fetch_checkpoint({.url = server.url(), .to = to(), .cancelled = [] { return true; }});
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.status().code(), StatusCode::Io);
  EXPECT_THAT(ended.status().message(), HasSubstr("asked to stop"));
  EXPECT_FALSE(std::filesystem::exists(to()));
}

TEST_F(CheckpointFetch, SyncsNothingMoreWhenItIsAsked) {
  const OneAnswer server(ok(good_tar()));
  Result<FetchedCheckpoint> fetched = fetch_checkpoint({.url = server.url(), .to = to()});
  ASSERT_TRUE(fetched.ok()) << fetched.status().message();
  const Status ended = fetched->files.sync([] { return true; });
  EXPECT_EQ(ended.code(), StatusCode::Io);
  EXPECT_THAT(ended.message(), HasSubstr("asked to stop"));
}

}  // namespace
}  // namespace perennial::perenniald
