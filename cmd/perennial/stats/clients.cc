#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cmd/common/tool/colours.h"
#include "cmd/common/tool/listing.h"
#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/output/readable.h"
#include "cmd/perennial/output/table.h"
#include "cmd/perennial/stats/commands.h"

namespace perennial::tool {
namespace {

struct ClientsOptions {
  ServerAddress server = {};
  bool json = false;
};

// All pages. A client that connects meanwhile is behind the others, as ids only grow.
Result<std::vector<StatsReply>> ask_clients(ServerConnection& server) {
  std::vector<StatsReply> clients;
  ListClients command;
  do {
    const Result<wire::ClientReply> reply = server.ask(command);
    if (!reply.ok()) return reply.status();
    if (!reply->is(Word::Ok)) return unexpected(*reply, "list-clients");
    Result<Listing> page = parse_listing(reply->text, "clients");
    if (!page.ok()) return page.take_status();
    for (StatsReply& client : page->rows) clients.push_back(std::move(client));
    command.after = page->cursor;
  } while (command.after != 0);
  return clients;
}

// What it does, as far as the server has seen.
std::string doing(const StatsReply& client) {
  if (client.text("waiting") == "true") return "waits";
  const bool puts = client.text("producer") == "true";
  const bool works = client.text("worker") == "true";
  if (puts && works) return "puts, works";
  return puts ? "puts" : works ? "works" : "-";
}

// The names that the server has told, which are the first ones.
std::string watched_text(const StatsReply& client) {
  std::string text = printable(client.text("watched").value_or(""));
  const auto told = static_cast<uint64_t>(std::ranges::count(text, ' ')) + 1;
  const uint64_t all = client.count("watching");
  if (all > told) text += fmt::format(" and {} more", with_commas(all - told));
  return text;
}

void print_clients_table(const std::vector<StatsReply>& clients) {
  std::vector<TableLine> lines = {
      {"ID", "AGE", "IDLE", "COMMANDS", "RESERVED", "DOES", "ADDRESS", "USER", "USES", "WATCHES"}};
  for (const StatsReply& client : clients) {
    const auto text = [&client](std::string_view key) {
      const std::string value = printable(client.text(key).value_or(""));
      return value.empty() ? "-" : value;
    };
    lines.push_back({text("id"), short_duration(client.count("age")),
                     short_duration(client.count("idle")), with_commas(client.count("commands")),
                     with_commas(client.count("reserved")), doing(client), text("address"),
                     text("user"), text("using"), watched_text(client)});
  }
  const std::string table = text_table(lines, {.numbers = 0, .numbers_end = 5});
  std::fputs(with_bold_heading(table, STDOUT_FILENO).c_str(), stdout);
}

void print_clients_json(const std::vector<StatsReply>& clients) {
  using Json = nlohmann::ordered_json;
  Json rows = Json::array();
  for (const StatsReply& client : clients) {
    const auto text = [&client](std::string_view key) {
      return std::string(client.text(key).value_or(""));
    };
    const auto flag = [&client](std::string_view key) { return client.text(key) == "true"; };
    Json watched = Json::array();
    const std::string names = text("watched");
    for (size_t at = 0; at < names.size();) {
      const size_t end = std::min(names.find(' ', at), names.size());
      watched.push_back(names.substr(at, end - at));
      at = end + 1;
    }
    const std::string user = text("user");
    rows.push_back({{"id", text("id")},
                    {"address", text("address")},
                    {"user", user.empty() ? Json(nullptr) : Json(user)},
                    {"age_seconds", client.count("age")},
                    {"idle_seconds", client.count("idle")},
                    {"commands", client.count("commands")},
                    {"held", client.count("reserved")},
                    {"producer", flag("producer")},
                    {"worker", flag("worker")},
                    {"waiting", flag("waiting")},
                    {"used", text("using")},
                    {"watched", std::move(watched)},
                    {"watched_count", client.count("watching")},
                    {"output_bytes", client.count("output-bytes")}});
  }
  print_result({{"connections", std::move(rows)}});
}

// perennial clients: who is connected to a running server.
Status clients(const ClientsOptions& options) {
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  const ExtensionSet needed = ExtensionSet().with(Extension::ListClients);
  if (Status known = require_extensions(*server, needed); !known.ok()) return known;
  const Result<std::vector<StatsReply>> all = ask_clients(*server);
  if (!all.ok()) return all.status();
  options.json ? print_clients_json(*all) : print_clients_table(*all);
  return {};
}

}  // namespace

Subcommand clients_command() {
  const auto options = std::make_shared<ClientsOptions>();
  return {
      .name = "clients",
      .summary = "List who is connected to a running server, a line each",
      .about =
          "In the order of their ids, so that who came last is last. AGE: since it connected. "
          "IDLE: "
          "since its last command began. RESERVED: jobs that it has reserved. DOES: 'waits' for a "
          "job, 'puts' if it has put one, 'works' if it has reserved one. USES: the tube of its "
          "puts. WATCHES: the tubes that it reserves from, the first twenty of them.\n\n"
          "A client that crashes and comes back has a new id, a small AGE and a new port at the "
          "same address. The list has this command's own connection, too. Where there are users, "
          "it needs the verb 'admin'. A beanstalkd has no such command.",
      .examples =
          "  perennial clients\n"
          "  # Who has reserved jobs, and has been silent for a minute?\n"
          "  perennial clients --json |\n"
          "    jq -r '.connections[] | select(.held > 0 and .idle_seconds > 60) | .address'\n",
      .flags = with_server_flags(options->server,
                                 {
                                     server_flag(options->server),
                                     {"--json", "", "Report as JSON", &options->json},
                                 }),
      .run = [options] { return clients(*options); },
  };
}

}  // namespace perennial::tool
