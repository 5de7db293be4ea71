#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "cmd/perenniald/http/answer.h"
#include "engine/types/basic.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// GET /cluster/checkpoint: a checkpoint of this node as a tar, for a node that the log in etcd does
// not reach any more. Its manifest comes first, with names and sizes, then the files of its
// database, and in the end the manifest again, with their hashes. Whoever gets it verifies it, so
// an answer that ends early does no harm.
//
// A thread makes the checkpoint below peer/ of the data directory and reads it once: it hashes what
// it sends, and leaves it to the client to read RocksDB's checksums and the rows. A few pieces wait
// in memory for the client. One checkpoint or digest is under way at a time. It is removed when it
// was sent, and when the client is gone or takes nothing for a minute.
class PeerCheckpoints {
 public:
  struct Parts {
    std::string data_dir;
    std::string version;  // Of this program.
    // store::cluster::ClusterLog::checkpoint_at(). It may call `done` on any thread, or never.
    std::function<void(BatchIndex index, std::string dir,
                       std::function<void(Result<BatchIndex>)> done)>
        create;
    // Has on_wake() called on the loop. Called on any thread.
    std::function<void()> wake;
  };

  // What `create` was given is not called after this has ended.
  explicit PeerCheckpoints(Parts parts);
  // REQUIRES: its answers have ended.
  ~PeerCheckpoints();

  std::unique_ptr<http::Answer> checkpoint();
  // GET /cluster/digest?at=N: JSON with the digests of all column families right after batch `at`
  // (store::Reader::digests()), for `perennial cluster verify`. It waits up to a minute for that
  // batch. A batch that has passed is answered 503 with the present one.
  std::unique_ptr<http::Answer> digest(BatchIndex at);
  void on_wake();
  // Ends what is under way. `wake` is not called any more.
  void stop();

 private:
  class Transfer;
  using TransferPointer = std::unique_ptr<Transfer, void (*)(Transfer*)>;
  class TarAnswer;

  enum class Kind : uint8_t { Checkpoint, Digest };

  std::unique_ptr<http::Answer> begin(Kind kind, BatchIndex at);
  void on_created(uint64_t number, Result<BatchIndex> made);

  const Parts parts_;
  TarAnswer* answer_ = nullptr;  // To whom the transfer goes; null: that one is gone.
  bool is_stopped_ = false;
  // The log may answer after a transfer has given up. Guards the change of the members below.
  std::mutex mutex_;
  uint64_t number_ = 0;                         // Of the transfer.
  TransferPointer transfer_{nullptr, nullptr};  // The last one.
};

}  // namespace perennial::perenniald
