#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/common/tool/listing.h"
#include "cmd/common/tool/requests.h"

// The schedules of a running server.
namespace perennial::tool {

// Connects to a server that has schedules, and what else is needed. Unsupported: it has not.
Result<ServerConnection> open_schedules(const ServerAddress& address, ExtensionSet needed = {});

// What list-schedules answers, page by page, in the order of the names. `tube`: only those that put
// into this one; empty: all. A user is told of those that the user may inspect or manage.
Result<std::vector<StatsReply>> ask_schedule_list(ServerConnection& server, std::string_view tube);
Result<std::vector<std::string>> ask_schedule_names(ServerConnection& server,
                                                    std::string_view tube);

struct ToldSchedule {
  StatsReply stats;
  std::string body;
};
// A schedule and its body. NotFound: there is none of this name.
Result<ToldSchedule> ask_schedule(ServerConnection& server, const std::string& name);
// The same for several. None: there is none of this name.
Result<std::vector<std::optional<ToldSchedule>>> ask_schedules(
    ServerConnection& server, const std::vector<std::string>& names);

// "there is no schedule 'nightly' at 127.0.0.1:11300".
Status no_schedule(const ServerConnection& server, std::string_view name);
// What an answer that is no success says to a person. `doing` is the command.
Status schedule_refused(const wire::ClientReply& reply, std::string_view doing);

// Sets schedules, several of them before it reads the answers. `took` is called with the place of
// each, in their order, and why it was refused. Returns an error if the server is gone.
class ScheduleSender {
 public:
  using Took = std::function<void(size_t place, const Status& refused)>;
  ScheduleSender(ServerConnection& server, Took took) : server_(server), took_(std::move(took)) {}

  Status set(const SetSchedule& command, std::string_view body);
  Status erase(const std::string& name);
  // Reads all outstanding answers.
  Status flush();

 private:
  Status add(const Command& command, std::string_view body);
  Status take(Word success, std::string_view doing);

  ServerConnection& server_;
  const Took took_;
  std::vector<Word> due_;  // What answers each command that has no answer yet.
  size_t answered_ = 0;
};

}  // namespace perennial::tool
