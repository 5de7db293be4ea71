#include "tests/transcripts/core_driver.h"

#include <functional>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/client_socket.h"

namespace perennial::transcripts {

void CoreDriver::set(const std::string& setting, int64_t value) {
  const auto count = static_cast<uint64_t>(value);
  const std::map<std::string, std::function<void()>> settings = {
      // 0: none. 1: the list that names none. Otherwise all.
      {"extensions",
       [&] {
         const ExtensionSet named = count == 1 ? ExtensionSet::probe() : ExtensionSet::all();
         options_.extensions = count == 0 ? ExtensionSet() : named;
       }},
      {"jobs_max", [&] { options_.engine.jobs_max = count; }},
      {"tubes_max", [&] { options_.engine.tubes_max = static_cast<uint32_t>(count); }},
      {"watched_max", [&] { options_.engine.watched_max = static_cast<uint32_t>(count); }},
      {"reserved_max", [&] { options_.engine.reserved_max = static_cast<uint32_t>(count); }},
      {"transitions_per_turn_max",
       [&] { options_.engine.transitions_per_turn_max = static_cast<uint32_t>(count); }},
      {"cost_per_turn_max", [&] { options_.engine.cost_per_turn_max = count; }},
      {"names_per_part_max",
       [&] { options_.engine.names_per_part_max = static_cast<uint32_t>(count); }},
      {"run_cost_max", [&] { options_.run_cost_max = count; }},
      {"job_bytes_max", [&] { options_.job_bytes_max = static_cast<uint32_t>(count); }},
      {"keys_max", [&] { options_.engine.keys_max = count; }},
      {"schedules_max", [&] { options_.engine.schedules_max = static_cast<uint32_t>(count); }},
      {"settings_max", [&] { options_.engine.settings_max = static_cast<uint32_t>(count); }},
      {"output_bytes_max", [&] { options_.output_bytes_max = count; }},
      // 0: none. 1: unix. 2: any. The clients of a transcript come over TCP.
      {"admin_on",
       [&] {
         options_.admin_on = count == 0   ? access::AdminOn::None
                             : count == 1 ? access::AdminOn::Unix
                                          : access::AdminOn::Any;
       }},
      {"body_cache_bytes", [&] { options_.body_cache_bytes = count; }},
      {"memory_bytes_max", [&] { options_.memory_bytes_max = count; }},
      {"room", [&] { harness().set_accepts_puts(count != 0); }},
      {"drain", [&] { harness().core().on_drain(harness().now()); }},
  };
  const auto found = settings.find(setting);
  if (found == settings.end()) {
    ADD_FAILURE() << "no such setting: " << setting;
    return;
  }
  const bool live = setting == "room" || setting == "drain";
  EXPECT_TRUE(live || harness_ == nullptr) << "a limit is set before anything is done";
  found->second();
}

support::CoreHarness& CoreDriver::harness() {
  if (harness_ == nullptr) harness_ = std::make_unique<support::CoreHarness>(options_);
  return *harness_;
}

ConnId CoreDriver::conn(const std::string& client) {
  const auto found = conns_.find(client);
  if (found != conns_.end()) return found->second;
  return conns_.emplace(client, harness().open()).first->second;
}

void CoreDriver::send(const std::string& client, const std::string& bytes) {
  harness().send(conn(client), bytes);
}

void CoreDriver::end(const std::string& client) {
  harness().end(conn(client));
}

void CoreDriver::close(const std::string& client) {
  harness().close(conn(client));
  conns_.erase(client);
  received_.erase(client);
}

std::optional<std::string> CoreDriver::receive(const std::string& client) {
  std::string& bytes = received_[client];
  bytes += harness().receive(conn(client));
  if (bytes.empty()) return std::nullopt;
  const size_t end = support::reply_end(bytes);
  EXPECT_GT(end, 0u) << "half a reply: " << bytes;
  std::string reply = bytes.substr(0, end);
  bytes.erase(0, end);
  return reply;
}

bool CoreDriver::closed(const std::string& client) {
  return harness().closed_by_server(conn(client));
}

void CoreDriver::advance(Nanos by) {
  harness().advance(by);
}

void CoreDriver::skip(Nanos by) {
  harness().skip(by);
}

void CoreDriver::act(const Line& line) {
  switch (line.kind) {
    case Line::Kind::Hold:
      return harness().set_committing(false);
    case Line::Kind::Commit:
      harness().set_committing(true);
      return harness().commit();
    case Line::Kind::Damage:
      return harness().damage(static_cast<JobId>(line.number));
    case Line::Kind::Crash:
      harness().crash();
      break;
    case Line::Kind::Restart:
      harness().restart();
      break;
    default:
      ADD_FAILURE() << "not for a driver: " << line.text;
  }
  conns_.clear();
  received_.clear();
}

void CoreDriver::check() {
  if (harness_ != nullptr) harness().core().engine().check();
}

}  // namespace perennial::transcripts
