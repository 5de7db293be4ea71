#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <grpcpp/client_context.h>
#include <grpcpp/support/async_stream.h>

#include "store/etcd/etcd.grpc.pb.h"
#include "store/etcd/grpc_executor.h"
#include "store/etcd/watch_assembly.h"

namespace perennial::store::etcd {

// One watch, on a stream of its own to one member. It owns itself: gRPC writes to it until the last
// operation has ended, and then it deletes itself.
class WatchStream {
 public:
  // Why the watch has ended: etcd has cancelled it and said why, or the stream has failed.
  struct End {
    WatchEnded report;
    bool is_cancelled = false;  // etcd cancelled it, so the member is healthy.
    bool is_silent = false;     // The member has not answered in time.
    grpc::Status status;        // Of the stream, if it has failed.
  };
  struct Handlers {
    std::function<void(WatchEvents)> events;
    std::function<void(End)> end;  // The last that is called.
  };

  // `token` may be empty. The handlers are called on the executor's thread, and not in here. Either
  // may abandon the stream.
  static WatchStream* begin(GrpcExecutor& executor, etcdserverpb::Watch::Stub& stub,
                            const std::string& token, const KeyRange& range, Revision from,
                            Handlers handlers);
  // Cancels the watch: no handler is called any more. The stream must not be used after this, or
  // after its end.
  void abandon();

 private:
  using Stream =
      grpc::ClientAsyncReaderWriter<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse>;
  enum class Step : uint8_t { Start, Read, Finish };

  WatchStream(GrpcExecutor& executor, Revision from, Handlers handlers);
  ~WatchStream() = default;

  void proceed(bool ok);
  void on_response();
  void on_failed();
  void written(bool ok);
  void read();
  void write(const etcdserverpb::WatchRequest& request);
  void ask_for_progress();
  void expect_response(Nanos within);
  void end(End end);
  void close();
  void operation_is_over();

  GrpcExecutor& executor_;
  Handlers handlers_;
  etcdserverpb::WatchRequest create_;
  WatchAssembly assembly_;

  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
  etcdserverpb::WatchResponse response_;
  grpc::Status status_;
  Step step_ = Step::Start;
  Completion proceeds_;
  Completion writes_;
  int operations_ = 0;
  bool is_writing_ = false;
  bool is_closed_ = false;
  TimerId progress_timer_ = 0;
  TimerId silence_timer_ = 0;
};

}  // namespace perennial::store::etcd
