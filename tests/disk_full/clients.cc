#include "tests/disk_full/clients.h"

#include <fmt/format.h>

namespace perennial::disk_full {

Clients::Clients(unsigned count, uint64_t seed) {
  for (unsigned number = 0; number < count; ++number) clients_.emplace_back(number, seed);
}

Status Clients::connect(const std::string& address) {
  for (Client& client : clients_) {
    if (Status connected = client.connect(address); !connected.ok()) return connected;
  }
  return {};
}

void Clients::start(const Work& work) {
  stopping_ = false;
  for (Client& client : clients_) {
    threads_.emplace_back([this, &client, work] {
      while (!stopping_ && client.step(work)) {
      }
    });
  }
}

void Clients::stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

Status Clients::check(uint64_t total) {
  for (Client& client : clients_) threads_.emplace_back([&client] { client.check(); });
  stop();
  if (Status surprised = surprise(); !surprised.ok()) return surprised;
  const uint64_t present = count(Outcome::Present);
  const uint64_t unknown = count(Outcome::PutInDoubt);
  if (present <= total && total <= present + unknown) return {};
  return {StatusCode::Corruption,
          fmt::format("it has {} jobs, of {} known and {} in doubt", total, present, unknown)};
}

Status Clients::surprise() const {
  for (const Client& client : clients_) {
    if (!client.surprise().empty()) return {StatusCode::Corruption, client.surprise()};
  }
  return {};
}

uint64_t Clients::refused_puts() const {
  uint64_t sum = 0;
  for (const Client& client : clients_) sum += client.refused_puts();
  return sum;
}

uint64_t Clients::steps_done() const {
  uint64_t sum = 0;
  for (const Client& client : clients_) sum += client.steps_done();
  return sum;
}

uint64_t Clients::count(Outcome outcome) const {
  uint64_t sum = 0;
  for (const Client& client : clients_) sum += client.count(outcome);
  return sum;
}

}  // namespace perennial::disk_full
