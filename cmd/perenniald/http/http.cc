#include "cmd/perenniald/http/http.h"

#include <list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/http/problem.h"
#include "engine/types/check.h"

namespace perennial::http {
namespace {

// A longer text takes longer to free than to hand over.
constexpr size_t freed_at_once_max = 1 << 20;

}  // namespace

// One connection. Requests are answered one after the other, in their order.
class Http::Session final : public core::Session {
 public:
  Session(Http& http, ConnId id, Nanos now, access::ClientRights rights, std::string share)
      : http_(http),
        id_(id),
        rights_(std::move(rights)),
        share_(std::move(share)),
        is_tls_(rights_.is_tls),
        parser_(http.limits_.message),
        since_(now) {}

  void on_bytes(std::span<const char> bytes, Nanos now, bool /*later*/) override {
    if (closing_) return;
    const bool was_within = parser_.is_within();
    parser_.add({bytes.data(), bytes.size()});
    if (!was_within) since_ = now;
    go_on(now);
  }
  // Whoever ends a connection has no use for what is still to be answered, but may only have closed
  // its sending side.
  void on_half_close(Nanos now) override { on_eof(now); }
  void on_eof(Nanos now) override {
    ended_ = true;
    if (is_endless_ || (answer_ != nullptr && answer_->ends_with_client())) return give_up();
    go_on(now);
  }
  void on_written(size_t bytes) override {
    sent_ += bytes;
    was_written_ = true;
    if (sent_ == out_.size()) {
      sent_ = 0;
      if (out_.capacity() > bytes_kept_max) http_.free_text(out_);
      out_.clear();
      out_.swap(body_);
      if (out_.empty()) on_lost_ = {};
      http_.on_output(*this);
    }
    if (out_.empty()) {
      // For the next request, or for what follows in a response without an end.
      if ((answer_ == nullptr && !closing_) || has_more_) make_runnable();
    }
    http_.idle_.on_progress(id_);
    changed();
  }
  void on_close(Nanos /*now*/) override {  // The last call.
    drop_output();
    http_.end_long_answer(*this);
    http_.idle_.remove(id_);
    if (is_leaving_) --http_.leaving_;
    http_.sessions_.erase(id_);
  }

  std::string_view output() const override { return std::string_view(out_).substr(sent_); }
  bool reading() override {
    return !closing_ && !ended_ && parser_.held_bytes() < http_.limits_.pipeline_bytes_max;
  }
  bool finished() const override { return closing_ && answer_ == nullptr && out_.empty(); }
  std::string_view speaks() const override { return {}; }
  bool may_hear_secret() const override { return true; }

  void step(Nanos now) {
    runnable_ = false;
    if (answer_ == nullptr) return go_on(now);
    if (is_endless_) return add_more();
    switch (answer_->step()) {
      case Answer::Step::Again:
        if (http_.begin_long_answer(*this)) make_runnable();
        return;
      case Answer::Step::Elsewhere:
        return;
      case Answer::Step::Waits:
        // It may wait for long, and others need none of what it waits for.
        return http_.end_long_answer(*this);
      case Answer::Step::Whole:
        http_.end_long_answer(*this);
        break;
    }
    http_.begun_.push_back(begun_);
    finish(answer_->take());
    if (is_endless_) return;
    answer_.reset();
    http_.become_idle(*this);
    since_ = now;
    go_on(now);
  }
  void on_time(Nanos now) {
    if (was_written_) since_ = now;
    was_written_ = false;
    if (!out_.empty()) {
      http_.idle_.on_progress(id_);  // Its client may have stopped taking it.
      if (now - since_ >= http_.limits_.idle_time) give_up();
      return;
    }
    if (closing_ || answer_ != nullptr) return;
    const bool within = parser_.is_within();
    const Nanos time = within ? http_.limits_.request_time : http_.limits_.idle_time;
    if (now - since_ < time) return;
    if (within) refuse(Status::RequestTimeout);
    close();
  }

  // Its place is needed. Whoever has sent a part of a request, or has not taken an answer, has had
  // its time.
  void give_way() {
    is_leaving_ = true;
    if (!out_.empty()) return give_up();
    if (closing_) return;
    if (parser_.is_within()) refuse(Status::ServiceUnavailable);
    close();
  }

  bool listed = false;  // In changed_.

 private:
  // Memory of an idle connection, and the longest body that is copied behind its head.
  static constexpr size_t bytes_kept_max = 64 << 10;

  void changed() { http_.changed(*this); }
  void make_runnable() {
    if (std::exchange(runnable_, true)) return;
    http_.runnable_.push_back(id_);
  }
  // What follows comes when the client has taken all that was sent before: a slow reader is skipped
  // and never queued for.
  void add_more() {
    has_more_ = !out_.empty();
    if (has_more_ || closing_) return;
    if (answer_->is_over()) return give_up();
    out_ += answer_->more();
    http_.on_output(*this);
    changed();
  }
  friend class Http;

  // Begins the next request, unless one is being answered, or its response has not left yet.
  void go_on(Nanos now) {
    if (answer_ != nullptr || closing_) return changed();
    if (!out_.empty()) return changed();
    std::optional<Request> request = parser_.next();
    if (!request) {
      if (const std::optional<Status> refused = parser_.refused()) {
        refuse(*refused);
        return close();
      }
      if (ended_) return close();
      if (parser_.take_continue()) {
        out_ += "HTTP/1.1 100 Continue\r\n\r\n";
        http_.on_output(*this);
      }
      return changed();
    }
    since_ = begun_ = now;
    // Requests that were sent before the end are still answered.
    keep_alive_ = request->keep_alive && (!ended_ || parser_.is_within());
    head_ = request->method == "HEAD";
    Handled handled = http_.handler_(*request, rights_);
    CHECK(handled.answer != nullptr);
    route_ = handled.route;
    is_tls_ = handled.is_tls;
    is_for_monitor_ = handled.is_for_monitor;
    answer_ = std::move(handled.answer);
    http_.idle_.remove(id_);
    answer_->wake = [this] { make_runnable(); };
    make_runnable();
    changed();
  }
  void finish(Response response) {
    ++http_.counts_[{route_, static_cast<unsigned>(response.status)}];
    std::optional<uint64_t> hsts_seconds;
    if (is_tls_) hsts_seconds = http_.limits_.hsts_seconds;
    on_lost_ = std::move(response.on_lost);
    out_ += render_head(response, keep_alive_, hsts_seconds);
    if (!head_ && response.body.size() > bytes_kept_max) {
      body_ = std::move(response.body);
    } else if (!head_) {
      out_ += response.body;
    }
    http_.on_output(*this);
    http_.keep_output_bounded(*this);
    is_endless_ = response.is_endless && !head_;
    if (response.is_endless) keep_alive_ = false;
    if (!keep_alive_ && !is_endless_) closing_ = true;
    changed();
  }
  void refuse(Status status) {
    keep_alive_ = false;
    head_ = false;
    is_tls_ = rights_.is_tls;
    route_ = "none";
    finish(problem_response(status, http_.why_refused(status)));
  }
  void close() {
    closing_ = true;
    changed();
  }
  // The client does not take its answer.
  void give_up() {
    drop_output();
    http_.end_long_answer(*this);
    is_endless_ = false;
    answer_.reset();
    close();
  }
  // Its memory, too: a connection may be idle for long behind a large answer.
  void drop_output() {
    http_.free_text(out_);
    http_.free_text(body_);
    sent_ = 0;
    http_.on_output(*this);
    if (on_lost_) std::exchange(on_lost_, {})();
  }

  Http& http_;
  const ConnId id_;
  const access::ClientRights rights_;
  const std::string share_;
  bool is_tls_;  // Of the request that is being answered.
  RequestParser parser_;
  std::unique_ptr<Answer> answer_;  // To the request that is being answered.
  std::string_view route_;          // Of that request.
  bool keep_alive_ = true;
  bool head_ = false;
  bool is_endless_ = false;  // The response is, and answer_ gives what follows.
  bool has_more_ = false;    // answer_ has more, which waits until out_ has left.
  bool runnable_ = false;    // It is listed in Http::runnable_.
  std::string out_;
  std::function<void()> on_lost_;  // Of the response in out_ and body_.
  std::string body_;               // A long one, which follows out_ and is never copied.
  size_t sent_ = 0;                // Of out_.
  size_t counted_ = 0;             // Of both, in Http::output_bytes_.
  std::optional<std::list<ConnId>::iterator> untaken_;  // Its place in Http::untaken_.
  bool is_for_monitor_ = false;                         // As in Handled.
  bool was_written_ = false;                            // Since the last on_time().
  Nanos since_;      // When the request began, or the client last took bytes, or became idle.
  Nanos begun_ = 0;  // When the request that is being answered was read.
  bool ended_ = false;
  bool closing_ = false;
  bool is_leaving_ = false;  // It has given way.
};

Http::Http(const Limits& limits, Handler handler)
    : limits_(limits),
      handler_(std::move(handler)),
      idle_({.connections_max = SIZE_MAX,
             .per_address_max = limits.per_address_max,
             .must_stay = limits.must_stay}),
      long_answers_(limits.long_answers_max),
      monitor_answers_(limits.monitor_answers_max) {}

Http::~Http() = default;

core::Session& Http::open(ConnId conn, Nanos now, access::ClientRights rights,
                          const std::string& share) {
  std::optional<ConnId> gives_way;
  if (count() >= limits_.connections_max) gives_way = idle_.first_to_give_way();
  auto& session = sessions_[conn];
  CHECK(session == nullptr);
  session = std::make_unique<Session>(*this, conn, now, std::move(rights), share);
  become_idle(*session);
  // Unless one of its own address has gone already.
  if (count() > limits_.connections_max) give_way(gives_way);
  return *session;
}

void Http::become_idle(Session& session) {
  if (!session.is_leaving_) give_way(idle_.add(session.id_, session.share_));
}

void Http::give_way(std::optional<ConnId> conn) {
  if (!conn) return;
  idle_.remove(*conn);
  ++leaving_;
  ++gave_way_;
  sessions_.at(*conn)->give_way();
}

std::string Http::why_refused(Status status) const {
  const MessageLimits& message = limits_.message;
  switch (status) {
    case Status::RequestTimeout:
      return fmt::format("The request was not whole after {} seconds.",
                         limits_.request_time / nanos_per_second);
    case Status::ContentTooLarge:
      return fmt::format("The body is larger than this path takes; none takes more than {} bytes.",
                         message.body_bytes_max);
    case Status::FieldsTooLarge:
      return fmt::format("The header is larger than {} bytes, or has more than {} fields.",
                         message.header_bytes_max, message.fields_max);
    case Status::NotImplemented:
      return "A body in pieces (Transfer-Encoding) is not read: send Content-Length.";
    case Status::VersionNotSupported:
      return "HTTP/1.1 and HTTP/1.0 are spoken here.";
    case Status::ServiceUnavailable:
      return fmt::format("All {} places are taken, and this connection has waited longest.",
                         limits_.connections_max);
    default:
      return "This is no request of HTTP/1.1, or one that a proxy might read differently.";
  }
}

LongAnswers& Http::long_answers_of(const Session& session) {
  return session.is_for_monitor_ ? monitor_answers_ : long_answers_;
}

// Whether the answer, which needs several steps, may go on. Else it does so when another has ended.
bool Http::begin_long_answer(const Session& session) {
  return long_answers_of(session).begin(session.id_, session.share_);
}

// The answer is whole, has to wait, or is given up.
void Http::end_long_answer(const Session& session) {
  const std::optional<ConnId> next = long_answers_of(session).end(session.id_);
  if (next) sessions_.at(*next)->make_runnable();
}

// Leaves it without memory.
void Http::free_text(std::string& text) {
  std::string freed;
  freed.swap(text);
  const bool is_long = freed.capacity() > freed_at_once_max;
  if (is_long && limits_.free_elsewhere) limits_.free_elsewhere(std::move(freed));
}

// The output of a session has become more, or is gone.
void Http::on_output(Session& session) {
  const size_t bytes = session.out_.size() + session.body_.size();
  output_bytes_ += bytes - std::exchange(session.counted_, bytes);
  if (session.out_.empty() && session.untaken_) {
    untaken_.erase(*std::exchange(session.untaken_, std::nullopt));
  } else if (!session.out_.empty() && !session.untaken_) {
    session.untaken_ = untaken_.insert(untaken_.end(), session.id_);
  }
}

void Http::keep_output_bounded(const Session& newest) {
  while (output_bytes_ > limits_.output_bytes_max && untaken_.front() != newest.id_) {
    Session& oldest = *sessions_.at(untaken_.front());
    if (oldest.is_leaving_) {
      oldest.give_up();
    } else {
      give_way(oldest.id_);
    }
  }
}

void Http::on_time(Nanos now) {
  for (auto& [id, session] : sessions_) session->on_time(now);
}

void Http::run_next(Nanos now) {
  const ConnId id = runnable_.front();
  runnable_.pop_front();
  const auto found = sessions_.find(id);
  if (found != sessions_.end()) found->second->step(now);
}

void Http::on_answers_ready(Nanos now) {
  for (const Nanos begun : begun_) request_times_.record_time(now - begun);
  begun_.clear();
}

void Http::changed(Session& session) {
  if (session.listed) return;
  session.listed = true;
  changed_.push_back(session.id_);
}

void Http::take_changed(std::vector<ConnId>& changed) {
  changed.swap(changed_);
  changed_.clear();
  for (const ConnId id : changed) {
    const auto found = sessions_.find(id);
    if (found != sessions_.end()) found->second->listed = false;
  }
}

}  // namespace perennial::http
