#include "cmd/perennial/schedules/server_schedules.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include <fmt/format.h>

namespace perennial::tool {
namespace {

// Documents of about 600 bytes each, and bodies, which are mostly small: their answers fit into the
// buffers on the way.
constexpr size_t asked_at_once_max = 50;
// Answers are short lines.
constexpr size_t sent_at_once_max = 200;
constexpr size_t queued_bytes_most = size_t{1} << 20;

Result<NamedListing> ask_schedule_page(ServerConnection& server, const std::string& after) {
  ListSchedules question{.after = after};
  question.count.value = list_schedules_max;
  const Result<wire::ClientReply> reply = server.ask(question);
  if (!reply.ok()) return reply.status();
  if (!reply->is(Word::Ok)) return schedule_refused(*reply, "list-schedules");
  return parse_named_listing(reply->text, "schedules");
}

// Receives the answer to stats-schedule or peek-schedule. None: there is no such schedule.
Result<std::optional<std::string>> receive_told(ServerConnection& server, std::string_view doing) {
  Result<wire::ClientReply> reply = server.receive();
  if (!reply.ok()) return reply.take_status();
  if (reply->is(Word::NotFound)) return std::optional<std::string>();
  if (!reply->is(Word::Ok)) return schedule_refused(*reply, doing);
  return std::optional(std::move(reply->text));
}

Result<std::optional<ToldSchedule>> receive_schedule(ServerConnection& server,
                                                     const std::string& name) {
  auto stats = receive_told(server, "stats-schedule " + name);
  if (!stats.ok()) return stats.take_status();
  auto body = receive_told(server, "peek-schedule " + name);
  if (!body.ok()) return body.take_status();
  // It may have been deleted between the two.
  if (!*stats || !*body) return std::optional<ToldSchedule>();
  Result<StatsReply> parsed = StatsReply::parse(**stats);
  if (!parsed.ok()) return parsed.take_status();
  return std::optional(ToldSchedule{.stats = parsed.take(), .body = *std::move(*body)});
}

}  // namespace

Result<ServerConnection> open_schedules(const ServerAddress& address, ExtensionSet needed) {
  Result<ServerConnection> server = open_server(address);
  if (!server.ok()) return server;
  Status known = require_extensions(*server, needed.with(Extension::Schedules));
  if (!known.ok()) return known;
  return server;
}

Result<std::vector<StatsReply>> ask_schedule_list(ServerConnection& server, std::string_view tube) {
  std::vector<StatsReply> all;
  std::string after;
  do {
    Result<NamedListing> page = ask_schedule_page(server, after);
    if (!page.ok()) return page.take_status();
    // Names only grow, so a server that goes back would be asked for ever.
    if (!page->cursor.empty() && page->cursor <= after)
      return Status(StatusCode::Io, "list-schedules: the cursor does not go on");
    after = page->cursor;
    for (StatsReply& row : page->rows) {
      if (tube.empty() || row.text("tube") == tube) all.push_back(std::move(row));
    }
  } while (!after.empty());
  return all;
}

Result<std::vector<std::string>> ask_schedule_names(ServerConnection& server,
                                                    std::string_view tube) {
  const Result<std::vector<StatsReply>> list = ask_schedule_list(server, tube);
  if (!list.ok()) return list.status();
  std::vector<std::string> names;
  for (const StatsReply& row : *list) names.emplace_back(row.text("name").value_or(""));
  return names;
}

Result<ToldSchedule> ask_schedule(ServerConnection& server, const std::string& name) {
  Result<std::vector<std::optional<ToldSchedule>>> told = ask_schedules(server, {name});
  if (!told.ok()) return told.take_status();
  if (!told->front()) return no_schedule(server, name);
  return *std::move(told->front());
}

Result<std::vector<std::optional<ToldSchedule>>> ask_schedules(
    ServerConnection& server, const std::vector<std::string>& names) {
  std::vector<std::optional<ToldSchedule>> all;
  for (std::span<const std::string> rest = names; !rest.empty();) {
    const auto some = rest.first(std::min(rest.size(), asked_at_once_max));
    for (const std::string& name : some) {
      server.add(StatsSchedule{name});
      server.add(PeekSchedule{name});
    }
    for (const std::string& name : some) {
      auto told = receive_schedule(server, name);
      if (!told.ok()) return told.take_status();
      all.push_back(told.take());
    }
    rest = rest.subspan(some.size());
  }
  return all;
}

Status no_schedule(const ServerConnection& server, std::string_view name) {
  return {StatusCode::NotFound,
          fmt::format("there is no schedule '{}' at {}", name, server.address())};
}

Status schedule_refused(const wire::ClientReply& reply, std::string_view doing) {
  const auto io = [](const char* why) { return Status(StatusCode::Io, why); };
  switch (reply.word) {
    case Word::NotFound:
      return {StatusCode::NotFound, "there is no such schedule"};
    case Word::BadFormat:
      return io(
          "BAD_FORMAT: the server does not know the time zone, or takes the expression for none; "
          "its tzdata or its version may be older");
    case Word::JobTooBig:
      return io("JOB_TOO_BIG: the body has more bytes than the server's max-job-size");
    case Word::OutOfMemory:
      return io(
          "OUT_OF_MEMORY: the server is at a limit, or its disk is nearly full; see 'perennial "
          "stats'");
    case Word::Draining:
      return io("DRAINING: the server, or the tube of the schedule, takes no more jobs");
    case Word::Denied:
      return {StatusCode::Unsupported,
              "DENIED: the server does not allow schedules at present; its log says why"};
    default:
      return unexpected(reply, doing);
  }
}

Status ScheduleSender::set(const SetSchedule& command, std::string_view body) {
  SetSchedule sized = command;
  sized.body_bytes = static_cast<uint32_t>(body.size());
  due_.push_back(Word::Set);
  return add(sized, body);
}

Status ScheduleSender::erase(const std::string& name) {
  due_.push_back(Word::Deleted);
  return add(DeleteSchedule{name}, {});
}

Status ScheduleSender::add(const Command& command, std::string_view body) {
  server_.add(command, body);
  const bool is_full =
      due_.size() >= sent_at_once_max || server_.queued_bytes() >= queued_bytes_most;
  return is_full ? flush() : Status();
}

Status ScheduleSender::flush() {
  for (const Word success : due_) {
    const bool is_set = success == Word::Set;
    if (Status took = take(success, is_set ? "set-schedule" : "delete-schedule"); !took.ok())
      return took;
  }
  due_.clear();
  return {};
}

Status ScheduleSender::take(Word success, std::string_view doing) {
  const Result<wire::ClientReply> reply = server_.receive();
  if (!reply.ok()) return reply.status();
  took_(answered_++, reply->is(success) ? Status() : schedule_refused(*reply, doing));
  return {};
}

}  // namespace perennial::tool
