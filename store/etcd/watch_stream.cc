#include "store/etcd/watch_stream.h"

#include <utility>

namespace perennial::store::etcd {
namespace {

namespace pb = etcdserverpb;

// How long etcd may take to confirm the watch, with the time to connect.
constexpr Nanos confirmed_within = 5 * nanos_per_second;
// Three requests for progress without an answer end the watch.
constexpr Nanos progress_interval = 5 * nanos_per_second;
constexpr Nanos silence_max = 15 * nanos_per_second;

}  // namespace

WatchStream* WatchStream::begin(GrpcExecutor& executor, pb::Watch::Stub& stub,
                                const std::string& token, const KeyRange& range, Revision from,
                                Handlers handlers) {
  auto* const watch = new WatchStream(executor, from, std::move(handlers));
  pb::WatchCreateRequest& create = *watch->create_.mutable_create_request();
  create.set_key(range.key);
  create.set_range_end(range.end);
  create.set_start_revision(from);
  create.set_fragment(true);
  // With this a member that loses etcd's leader ends the stream. Otherwise it would stay silent.
  watch->context_.AddMetadata("hasleader", "true");
  if (!token.empty()) watch->context_.AddMetadata("token", token);
  watch->stream_ = stub.PrepareAsyncWatch(&watch->context_, &executor.queue());
  ++watch->operations_;
  watch->stream_->StartCall(&watch->proceeds_);
  watch->expect_response(confirmed_within);
  return watch;
}

WatchStream::WatchStream(GrpcExecutor& executor, Revision from, Handlers handlers)
    : executor_(executor), handlers_(std::move(handlers)), assembly_(from) {
  proceeds_.run = [this](bool ok) { proceed(ok); };
  writes_.run = [this](bool ok) { written(ok); };
}

// It does not delete this: there is always an operation under way here, or its completion is the
// caller, and the last operation to end does it.
void WatchStream::abandon() {
  close();
}

// The steps of the stream: Start, then Read until one fails, then Finish, whose status says why.
void WatchStream::proceed(bool ok) {
  if (is_closed_) return operation_is_over();
  if (step_ == Step::Finish) {
    on_failed();
  } else if (!ok) {
    step_ = Step::Finish;
    ++operations_;
    stream_->Finish(&status_, &proceeds_);
  } else if (step_ == Step::Start) {
    step_ = Step::Read;
    write(create_);
    create_.Clear();
    read();
  } else {
    on_response();
    if (!is_closed_) read();
  }
  operation_is_over();
}

void WatchStream::on_response() {
  if (response_.canceled()) {
    const Revision compacted = response_.compact_revision();
    std::string why = response_.cancel_reason();
    if (why.empty()) why = compacted != 0 ? "compacted" : "cancelled by etcd";
    return end({.report = {.compact_revision = compacted, .message = std::move(why)},
                .is_cancelled = true,
                .is_silent = false,
                .status = {}});
  }
  if (response_.created()) {
    progress_timer_ = executor_.after(progress_interval, [this] { ask_for_progress(); });
  }
  expect_response(silence_max);
  std::optional<WatchEvents> events = assembly_.add(response_);
  if (events) handlers_.events(*std::move(events));
}

void WatchStream::on_failed() {
  const std::string why = status_.ok() ? "the stream has ended" : status_.error_message();
  end({.report = {.compact_revision = 0, .message = why},
       .is_cancelled = false,
       .is_silent = false,
       .status = status_});
}

// `ok` is ignored: after a failed write the read that is under way fails, too.
void WatchStream::written(bool /*ok*/) {
  is_writing_ = false;
  operation_is_over();
}

void WatchStream::read() {
  ++operations_;
  stream_->Read(&response_, &proceeds_);
}

void WatchStream::write(const pb::WatchRequest& request) {
  is_writing_ = true;
  ++operations_;
  stream_->Write(request, &writes_);
}

void WatchStream::ask_for_progress() {
  progress_timer_ = executor_.after(progress_interval, [this] { ask_for_progress(); });
  if (is_writing_ || step_ != Step::Read) return;
  pb::WatchRequest request;
  request.mutable_progress_request();
  write(request);
}

void WatchStream::expect_response(Nanos within) {
  executor_.cancel_timer(silence_timer_);
  silence_timer_ = executor_.after(within, [this] {
    end({.report = {.compact_revision = 0, .message = "no answer in time"},
         .is_cancelled = false,
         .is_silent = true,
         .status = {}});
  });
}

// The handler may destroy what the handlers refer to, but not this: an operation is under way.
void WatchStream::end(End end) {
  const std::function<void(End)> ended = std::move(handlers_.end);
  close();
  ended(std::move(end));
}

// The operations that are under way end soon, and no more are begun.
void WatchStream::close() {
  is_closed_ = true;
  executor_.cancel_timer(progress_timer_);
  executor_.cancel_timer(silence_timer_);
  context_.TryCancel();
}

void WatchStream::operation_is_over() {
  if (--operations_ == 0 && is_closed_) delete this;
}

}  // namespace perennial::store::etcd
