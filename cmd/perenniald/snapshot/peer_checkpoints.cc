#include "cmd/perenniald/snapshot/peer_checkpoints.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perenniald/http/problem.h"
#include "cmd/perenniald/process/log.h"
#include "cmd/perenniald/snapshot/tar_writer.h"
#include "engine/types/check.h"
#include "store/checkpoint/checkpoint.h"
#include "store/checkpoint/checkpoint_manifest.h"
#include "store/disk/file_tree.h"
#include "store/disk/replacement.h"
#include "store/reader.h"

namespace perennial::perenniald {
namespace {

// Pieces of a megabyte that wait for the client.
constexpr size_t pieces_max = 4;
// A client that takes nothing for so long is given up, and so is a log that makes no checkpoint.
constexpr std::chrono::seconds patience{60};

Nanos wall_time() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

// One checkpoint on its way, with its thread.
class PeerCheckpoints::Transfer {
 public:
  enum class State : uint8_t { Making, Sending, Failed };

  using Created = std::function<void(Result<BatchIndex>)>;

  // `created` may be called after this has ended. `at`: the last batch in it; 0: the newest.
  Transfer(const Parts& parts, Kind kind, BatchIndex at, Created created)
      : parts_(parts), kind_(kind), at_(at), report_created_(std::move(created)), thread_([this] {
          run();
        }) {}
  ~Transfer() { stop(); }

  void stop() {
    cancel();
    if (thread_.joinable()) thread_.join();
  }
  void on_created(Result<BatchIndex> made) {
    const std::lock_guard lock(mutex_);
    created_.emplace(std::move(made));
    changed_.notify_all();
  }

  void cancel() {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    changed_.notify_all();
  }
  std::string content_type() const {
    return kind_ == Kind::Digest ? "application/json" : "application/x-tar";
  }
  bool has_ended() const { return has_ended_.load(std::memory_order_acquire); }

  State state() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }
  Status failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  // The next piece. Empty: there is none now.
  std::string take_piece() {
    const std::lock_guard lock(mutex_);
    if (pieces_.empty()) return {};
    std::string piece = std::move(pieces_.front());
    pieces_.pop_front();
    changed_.notify_all();
    return piece;
  }
  bool has_piece() const {
    const std::lock_guard lock(mutex_);
    return !pieces_.empty();
  }
  // Everything was taken, or nothing more comes.
  bool is_over() const {
    const std::lock_guard lock(mutex_);
    return is_over_ && pieces_.empty();
  }

 private:
  void run() {
    const std::string folder = parts_.data_dir + "/" + std::string(store::peer_name);
    Status done = send(folder);
    if (Status removed = tree_.remove(folder); done.ok()) done = std::move(removed);
    if (!done.ok()) {
      log(Level::Warning, "cluster.checkpoint", {{"failed", done.message()}});
    }
    {
      const std::lock_guard lock(mutex_);
      if (state_ == State::Making) state_ = State::Failed;
      failure_ = std::move(done);
      is_over_ = true;
    }
    has_ended_.store(true, std::memory_order_release);
    parts_.wake();
  }

  Status send(const std::string& folder) {
    if (Status removed = tree_.remove(folder); !removed.ok()) return removed;
    if (Status made = tree_.make_dir(folder); !made.ok()) return made;
    store::CheckpointPlan plan = {.dir = folder,
                                  .name = store::checkpoint_name(wall_time()),
                                  .created = wall_time(),
                                  .server_version = parts_.version,
                                  .cancelled = [this] { return is_cancelled(); }};
    Result<BatchIndex> index = create(store::partial_path(plan));
    if (!index.ok()) return index.take_status();
    plan.index = *index;
    if (kind_ == Kind::Digest) return send_digest(store::partial_path(plan), *index);
    Result<store::CheckpointManifest> listed = store::list_partial_checkpoint(plan);
    if (!listed.ok()) return listed.take_status();
    log(Level::Info, "cluster.checkpoint",
        {{"index", fmt::format("{}", *index)}, {"bytes", fmt::format("{}", listed->bytes())}});
    begin_sending();
    return send_files(store::partial_path(plan), listed.take());
  }

  void begin_sending() {
    {
      const std::lock_guard lock(mutex_);
      state_ = State::Sending;
    }
    parts_.wake();
  }

  Status send_digest(const std::string& path, BatchIndex index) {
    const Result<std::unique_ptr<store::Reader>> reader = store::Reader::open({.path = path});
    if (!reader.ok()) return reader.status();
    const auto digests = (*reader)->digests([this] { return is_cancelled(); });
    if (!digests.ok()) return digests.status();
    nlohmann::ordered_json out = {{"index", index}};
    for (const store::FamilyDigest& each : *digests) {
      out["families"].push_back({{"name", each.family}, {"rows", each.rows}, {"hash", each.hash}});
    }
    begin_sending();
    push(out.dump() + "\n");
    return {};
  }

  // Waits until the log has made the copy.
  Result<BatchIndex> create(const std::string& dir) {
    parts_.create(at_, dir, report_created_);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return created_ || is_cancelled_; });
    if (created_) return *std::move(created_);
    return Status(StatusCode::Io,
                  is_cancelled_ ? "the client is gone" : "the log of the cluster has made no copy");
  }

  // The manifest goes first, so that the other node knows what comes, and once more in the end,
  // with the hashes of what was read.
  Status send_files(const std::string& path, store::CheckpointManifest manifest) {
    constexpr const char* manifest_name = "manifest.json";
    TarWriter tar([this](std::string piece) { return push(std::move(piece)); });
    if (Status sent = tar.add(manifest_name, render(manifest)); !sent.ok()) return sent;
    for (store::CheckpointFile& file : manifest.files) {
      const std::string name = "db/" + file.name;
      Result<std::string> hash = tar.add_file(path + "/" + name, name, file.bytes);
      if (!hash.ok()) return hash.take_status();
      file.hash = hash.take();
    }
    Status done = tar.add(manifest_name, render(manifest));
    if (done.ok()) done = tar.finish();
    return done;
  }

  // Returns false if nobody takes the pieces any more.
  bool push(std::string piece) {
    {
      std::unique_lock lock(mutex_);
      const bool may_go_on = changed_.wait_for(
          lock, patience, [this] { return is_cancelled_ || pieces_.size() < pieces_max; });
      if (!may_go_on || is_cancelled_) return false;
      pieces_.push_back(std::move(piece));
    }
    parts_.wake();
    return true;
  }

  bool is_cancelled() const {
    const std::lock_guard lock(mutex_);
    return is_cancelled_;
  }

  const Parts& parts_;
  const Kind kind_;
  const BatchIndex at_;
  const Created report_created_;
  const store::FileTree tree_{nullptr};
  std::atomic<bool> has_ended_ = false;

  mutable std::mutex mutex_;  // Guards the members below.
  std::condition_variable changed_;
  State state_ = State::Making;
  Status failure_;
  std::optional<Result<BatchIndex>> created_;
  std::deque<std::string> pieces_;
  bool is_cancelled_ = false;
  bool is_over_ = false;

  std::thread thread_;  // Last, so that it finds all other members.
};

class PeerCheckpoints::TarAnswer final : public http::Answer {
 public:
  explicit TarAnswer(PeerCheckpoints& owner) : owner_(owner), transfer_(*owner.transfer_) {}
  ~TarAnswer() override {
    transfer_.cancel();
    owner_.answer_ = nullptr;
  }

  Step step() override {
    return transfer_.state() == Transfer::State::Making ? Step::Waits : Step::Whole;
  }
  http::Response take() override {
    if (transfer_.state() == Transfer::State::Failed) {
      http::Response response =
          http::problem_response(http::Status::ServiceUnavailable, transfer_.failure().message());
      response.fields = {{"Retry-After", "5"}};
      return response;
    }
    wake();
    return {.is_endless = true, .content_type = transfer_.content_type()};
  }
  std::string more() override {
    std::string piece = transfer_.take_piece();
    if (transfer_.has_piece() || transfer_.is_over()) wake();
    return piece;
  }
  bool is_over() override { return transfer_.is_over(); }

 private:
  PeerCheckpoints& owner_;
  Transfer& transfer_;
};

PeerCheckpoints::PeerCheckpoints(Parts parts) : parts_(std::move(parts)) {}

PeerCheckpoints::~PeerCheckpoints() {
  CHECK(answer_ == nullptr);
}

std::unique_ptr<http::Answer> PeerCheckpoints::checkpoint() {
  return begin(Kind::Checkpoint, 0);
}

std::unique_ptr<http::Answer> PeerCheckpoints::digest(BatchIndex at) {
  return begin(Kind::Digest, at);
}

std::unique_ptr<http::Answer> PeerCheckpoints::begin(Kind kind, BatchIndex at) {
  if (is_stopped_ || answer_ != nullptr || (transfer_ != nullptr && !transfer_->has_ended())) {
    http::Response response = http::problem_response(
        http::Status::ServiceUnavailable,
        "A checkpoint or a digest is under way, or this node stops: ask again.");
    response.fields = {{"Retry-After", "5"}};
    return http::answer_now(std::move(response));
  }
  {
    const std::lock_guard lock(mutex_);
    const uint64_t number = ++number_;
    const auto created = [this, number](Result<BatchIndex> made) {
      on_created(number, std::move(made));
    };
    transfer_ = TransferPointer(new Transfer(parts_, kind, at, created),
                                [](Transfer* transfer) { delete transfer; });
  }
  auto answer = std::make_unique<TarAnswer>(*this);
  answer_ = answer.get();
  return answer;
}

void PeerCheckpoints::on_created(uint64_t number, Result<BatchIndex> made) {
  const std::lock_guard lock(mutex_);
  if (number == number_) transfer_->on_created(std::move(made));
}

void PeerCheckpoints::stop() {
  is_stopped_ = true;
  if (transfer_ != nullptr) transfer_->stop();
}

void PeerCheckpoints::on_wake() {
  if (answer_ != nullptr) answer_->wake();
}

}  // namespace perennial::perenniald
