#include "cmd/perenniald/standby/forwarder.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "cmd/perenniald/net/streams/forward_header.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

// One side is not read while so many bytes wait to be written to the other side.
constexpr size_t held_bytes_max = 256 << 10;

// A client that sends nothing for so long is connected with the leader nevertheless.
constexpr Nanos silence_max = nanos_per_second / 2;

}  // namespace

// One of the two connections. The other one is null while a client waits, and after it is closed.
class Forwarder::Side final : public core::Session {
 public:
  Side(Forwarder& forwarder, ConnId id, Nanos now)
      : since(now), forwarder_(forwarder), id_(id), is_client_(true), waits_(true) {}
  Side(Forwarder& forwarder, ConnId id, Side& client)
      : forwarder_(forwarder), id_(id), is_client_(false), waits_(false) {
    join(client);
    client.join(*this);
    if (forwarder.leader_reads_header_) out_ = forward_header;
    client.pass_early_on();
  }

  void on_bytes(std::span<const char> bytes, Nanos /*now*/, bool /*later*/) override {
    const std::string_view text(bytes.data(), bytes.size());
    forwarder_.changed(*this);
    if (is_client_) forwards_.take(text);
    if (forwards_.count() == forward_hops_max) return refuse_circle();
    if (waits_) {
      early_ += text;
      has_spoken_ = is_due = true;
      forwarder_.dial_if_due(*this);
    } else if (other_ != nullptr) {
      other_->add(text);
    }
  }
  // The client's commands are read on, which shows whether it has closed the connection or has only
  // shut down its sending side.
  void on_half_close(Nanos /*now*/) override {
    reads_early_ = true;
    forwarder_.changed(*this);
  }
  // A server ends its sending side only by closing the connection. So the rest of the client's
  // bytes is of no use any more, but the client still gets what the server has sent.
  void on_eof(Nanos /*now*/) override {
    if (!is_client_) return drop();
    ended_ = true;
    if (waits_ && !has_spoken_) closing_ = true;  // As a check of its health.
    if (other_ != nullptr) other_->on_other_ended();
    forwarder_.changed(*this);
  }
  void on_written(size_t bytes) override {
    sent_ += bytes;
    if (sent_ == out_.size()) {
      out_.clear();
      sent_ = 0;
      end_output_if_due();
    }
    if (other_ != nullptr) forwarder_.changed(*other_);
    forwarder_.changed(*this);
  }
  void on_close(Nanos /*now*/) override {
    if (other_ != nullptr) {
      if (!waits_) --forwarder_.forwarded_;
      other_->on_other_gone();
    }
    forwarder_.sides_.erase(id_);  // The last call.
  }

  std::string_view output() const override { return std::string_view(out_).substr(sent_); }
  bool reading() override {
    if (closing_ || ended_) return false;
    if (waits_) return !has_spoken_ || (reads_early_ && early_.size() < held_bytes_max);
    return other_ != nullptr && other_->output().size() < held_bytes_max;
  }
  bool finished() const override { return closing_ && out_.empty(); }
  std::string_view speaks() const override { return {}; }
  bool may_hear_secret() const override { return false; }

  // Ends it, whatever it has to say.
  void drop() {
    out_.clear();
    sent_ = 0;
    closing_ = true;
    forwarder_.changed(*this);
  }
  bool waits() const { return waits_; }
  ConnId id() const { return id_; }
  // Headers in front of it have come to their end here.
  Early take_early() {
    return {.bytes = early_.substr(forwards_.count() * forward_header.size()), .ended = ended_};
  }

  const Nanos since = 0;  // When it began to wait.
  bool is_due = false;    // The leader may be dialled.
  bool dials = false;
  bool listed = false;  // In changed_.

 private:
  void join(Side& other) {
    other_ = &other;
    waits_ = false;
    forwarder_.changed(*this);
  }
  void pass_early_on() {
    if (!early_.empty()) other_->add(std::exchange(early_, {}));
    if (ended_) other_->on_other_ended();
  }
  void refuse_circle() {
    forwarder_.owner_.on_circle(id_);
    if (other_ != nullptr) other_->drop();
    drop();
  }
  void add(std::string_view bytes) {
    out_ += bytes;
    forwarder_.changed(*this);
  }
  void on_other_ended() {
    ends_output_ = true;
    end_output_if_due();
    forwarder_.changed(*this);
  }
  void end_output_if_due() {
    if (!ends_output_ || !out_.empty() || closing_) return;
    ends_output_ = false;
    forwarder_.owner_.end_output(id_);
  }
  // What the other side has sent is still written.
  void on_other_gone() {
    other_ = nullptr;
    closing_ = true;
    forwarder_.changed(*this);
  }

  Forwarder& forwarder_;
  const ConnId id_;
  const bool is_client_;
  Side* other_ = nullptr;
  bool waits_;
  ForwardHeaders forwards_;  // In front of a client's bytes.
  bool has_spoken_ = false;
  std::string early_;  // Of a client that waits: its headers; all, if its sending side has ended.
  bool reads_early_ = false;
  std::string out_;
  size_t sent_ = 0;  // Of out_.
  bool ended_ = false;
  bool ends_output_ = false;  // The other one has ended: so shall the output, when it has left.
  bool closing_ = false;
};

Forwarder::Forwarder(Nanos wait_max, Owner& owner)
    : wait_max_(wait_max), silence_max_(std::min(silence_max, wait_max / 2)), owner_(owner) {}

Forwarder::~Forwarder() = default;

core::Session& Forwarder::open_client(ConnId conn, Nanos now) {
  auto& side = sides_[conn];
  CHECK(side == nullptr);
  side = std::make_unique<Side>(*this, conn, now);
  side->is_due = silence_max_ == 0;
  dial_if_due(*side);
  return *side;
}

core::Session& Forwarder::open_leader_side(ConnId conn) {
  CHECK(adopting_ != nullptr);
  auto& side = sides_[conn];
  CHECK(side == nullptr);
  side = std::make_unique<Side>(*this, conn, *std::exchange(adopting_, nullptr));
  ++forwarded_;
  return *side;
}

void Forwarder::set_leader(std::string address, bool reads_forward_header) {
  leader_reads_header_ = reads_forward_header;
  if (address == leader_) return;
  leader_ = std::move(address);
  for (auto& [id, side] : sides_) {
    if (side->waits()) {
      dial_if_due(*side);
    } else {
      side->drop();
    }
  }
}

void Forwarder::dial_if_due(Side& client) {
  if (leader_.empty() || !client.is_due || std::exchange(client.dials, true)) return;
  owner_.dial(leader_,
              [this, id = client.id(), address = leader_](int fd) { on_dialled(id, address, fd); });
}

void Forwarder::on_dialled(ConnId client, const std::string& address, int fd) {
  const auto found = sides_.find(client);
  const bool is_wanted = found != sides_.end() && found->second->waits() && address == leader_;
  if (found != sides_.end()) found->second->dials = false;
  if (fd < 0) return;  // on_time() tries again.
  if (!is_wanted) {
    ::close(fd);
    return;
  }
  adopting_ = found->second.get();
  const bool adopted = owner_.adopt(fd);
  adopting_ = nullptr;
  if (!adopted) found->second->drop();
}

void Forwarder::on_time(Nanos now) {
  for (auto& [id, side] : sides_) {
    if (!side->waits()) continue;
    const Nanos waited = now - side->since;
    if (waited >= wait_max_) {
      side->drop();
    } else {
      side->is_due = side->is_due || waited >= silence_max_;
      dial_if_due(*side);
    }
  }
}

std::vector<ConnId> Forwarder::waiting() const {
  std::vector<ConnId> out;
  for (const auto& [id, side] : sides_) {
    if (side->waits()) out.push_back(id);
  }
  return out;
}

Forwarder::Early Forwarder::take(ConnId client) {
  const auto found = sides_.find(client);
  CHECK(found != sides_.end());
  CHECK(found->second->waits());
  Early early = found->second->take_early();
  sides_.erase(found);
  return early;
}

void Forwarder::changed(Side& side) {
  if (std::exchange(side.listed, true)) return;
  changed_.push_back(side.id());
}

void Forwarder::take_changed(std::vector<ConnId>& changed) {
  changed.swap(changed_);
  changed_.clear();
  for (const ConnId id : changed) {
    if (const auto found = sides_.find(id); found != sides_.end()) found->second->listed = false;
  }
}

}  // namespace perennial::perenniald
