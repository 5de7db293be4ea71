#include "cmd/perenniald/http/leases/leases.h"

#include <algorithm>

#include "engine/types/check.h"
#include "engine/types/later.h"

namespace perennial::http {
namespace {

// Whether nobody holds the job any more by this answer, or somebody else does.
bool ends_lease(const wire::ClientReply& reply) {
  constexpr Word ends[] = {Word::Deleted, Word::Released, Word::Buried, Word::NotFound};
  return std::ranges::find(ends, reply.word) != std::end(ends);
}

}  // namespace

std::vector<uint64_t> Leases::add(std::unique_ptr<Reservation> reservation,
                                  const std::vector<JobId>& jobs) {
  for (const JobId job : jobs) {
    Lease lease = {
        .reservation = reservation->id(), .job = job, .began_at = hooks_.now(), .ends_at = 0};
    lease.ends_at = end_of(lease).value_or(hooks_.now());
    ends_.emplace(lease.ends_at, next_);
    by_job_[job] = next_;
    leases_.emplace(next_, lease);
    reservation->leases.push_back(next_++);
  }
  std::vector<uint64_t> leases = reservation->leases;
  reservation->on_news = [this, at = reservation.get()] { on_news(*at); };
  reservations_.emplace(reservation->id(), std::move(reservation));
  return leases;
}

const Leases::Lease* Leases::find(uint64_t lease) const {
  const auto found = leases_.find(lease);
  return found != leases_.end() ? &found->second : nullptr;
}

std::optional<uint64_t> Leases::lease_of(ConnId holder, JobId job) const {
  const auto found = by_job_.find(job);
  if (found == by_job_.end() || leases_.at(found->second).reservation != holder) {
    return std::nullopt;
  }
  return found->second;
}

void Leases::give_back(ConnId reservation) {
  const auto found = reservations_.find(reservation);
  if (found == reservations_.end()) return;
  for (const uint64_t lease : std::vector(found->second->leases)) end(lease);
  remove_ended();
}

void Leases::call(uint64_t lease, const Command& command, std::string_view body, LeaseCall& call) {
  const Lease* const found = find(lease);
  if (found == nullptr) {
    call.is_answered = true;
    return;
  }
  Reservation& reservation = *reservations_.at(found->reservation);
  call.reservation = reservation.id();
  reservation.pending.push_back({.call = &call, .lease = lease});
  reservation.client().send(command, body);
}

void Leases::forget(const LeaseCall& call) {
  const auto found = reservations_.find(call.reservation);
  if (found == reservations_.end()) return;
  for (Reservation::Pending& each : found->second->pending) {
    if (each.call == &call) each.call = nullptr;
  }
}

void Leases::on_news(Reservation& reservation) {
  while (std::optional<wire::ClientReply> reply = reservation.client().take()) {
    CHECK(!reservation.pending.empty());
    const Reservation::Pending answered = reservation.pending.front();
    reservation.pending.pop_front();
    if (ends_lease(*reply)) end(answered.lease);
    if (answered.call == nullptr) continue;
    answered.call->reply = std::move(reply);
    answered.call->is_answered = true;
    answered.call->wake();
  }
  if (!reservation.client().is_closed()) return;
  for (const Reservation::Pending& each : std::exchange(reservation.pending, {})) {
    if (each.call == nullptr) continue;
    each.call->is_answered = true;
    each.call->wake();
  }
  for (const uint64_t lease : std::vector(reservation.leases)) end(lease);
}

void Leases::end(uint64_t lease) {
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return;
  Reservation& reservation = *reservations_.at(found->second.reservation);
  ends_.erase({found->second.ends_at, lease});
  const auto newest = by_job_.find(found->second.job);
  if (newest != by_job_.end() && newest->second == lease) by_job_.erase(newest);
  leases_.erase(found);
  std::erase(reservation.leases, lease);
  places_.give_back(reservation.user, 1);
  if (reservation.leases.empty()) ended_.push_back(reservation.id());
}

// A reservation whose client still owes an answer goes when that has come.
void Leases::remove_ended() {
  std::erase_if(ended_, [this](ConnId id) {
    const auto found = reservations_.find(id);
    if (found == reservations_.end()) return true;
    if (!found->second->pending.empty()) return false;
    reservations_.erase(found);
    return true;
  });
}

std::optional<Nanos> Leases::end_of(const Lease& lease) const {
  const std::optional<JobStats> job = hooks_.engine().job_statistics(lease.job);
  if (!job || job->holder != lease.reservation) return std::nullopt;
  return hooks_.now() + job->time_left;
}

std::optional<Nanos> Leases::renew(uint64_t lease) {
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return std::nullopt;
  const std::optional<Nanos> end = end_of(found->second);
  if (!end) return std::nullopt;
  ends_.erase({found->second.ends_at, lease});
  found->second.ends_at = *end;
  ends_.emplace(*end, lease);
  return end;
}

size_t Leases::end_lost_of(Reservation& reservation) {
  const engine::EngineView engine = hooks_.engine();
  if (engine.held(reservation.id()) == reservation.leases.size()) return 0;
  std::vector<uint64_t> lost;
  for (const uint64_t lease : reservation.leases) {
    if (!engine.holds(reservation.id(), leases_.at(lease).job)) lost.push_back(lease);
  }
  for (const uint64_t lease : lost) end(lease);
  return lost.size();
}

void Leases::on_time() {
  const Nanos now = hooks_.now();
  size_t ended = 0;
  for (; ended < ended_at_once && !ends_.empty() && ends_.begin()->first <= now; ++ended) {
    const uint64_t lease = ends_.begin()->second;
    const std::optional<Nanos> renewed = renew(lease);
    if (!renewed) end(lease);
    if (renewed && *renewed <= now) break;  // The engine has not come to it yet.
  }
  ask_some(ended);
  remove_ended();
}

// Goes around: behind the last one comes the first.
void Leases::ask_some(size_t ended) {
  auto at = reservations_.upper_bound(asked_last_);
  for (size_t i = 0; i < asked_at_once && ended < ended_at_once && at != reservations_.end();
       ++i, ++at) {
    asked_last_ = at->first;
    ended += end_lost_of(*at->second);
  }
  if (at == reservations_.end()) asked_last_ = 0;
}

void Leases::end_lost() {
  const Nanos now = hooks_.now();
  if (now < later(looked_at_all_, end_lost_interval)) return;
  looked_at_all_ = now;
  for (const auto& [conn, reservation] : reservations_) end_lost_of(*reservation);
  remove_ended();
}

}  // namespace perennial::http
