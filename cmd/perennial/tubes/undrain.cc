#include "cmd/perennial/tubes/undrain.h"

#include <fmt/format.h>

namespace perennial::tool {

Status undrain(const UndrainOptions& options) {
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  const ExtensionSet needed = ExtensionSet().with(Extension::Drain);
  if (Status known = require_extensions(*server, needed); !known.ok()) return known;
  const Result<wire::ClientReply> reply = server->ask(Undrain{});
  if (!reply.ok()) return reply.status();
  if (reply->is(Word::Denied)) return denied();
  if (!reply->is(Word::NotDraining)) return unexpected(*reply, "undrain");
  fmt::print("{} takes jobs\n", server->address());
  return {};
}

Subcommand undrain_command(UndrainOptions& options) {
  return {
      .name = "undrain",
      .summary = "Let a server that drains take jobs again",
      .about =
          "Ends what 'perennial drain' has begun. It works over the protocol, so the server may be "
          "on another machine. For one tube there is 'perennial set tube TUBE --drain no'. A "
          "beanstalkd has no such command: it drains until it is started again.",
      .examples = "  perennial undrain\n",
      .flags = with_server_flags(options.server, {server_flag(options.server)}),
      .run = [&options] { return undrain(options); },
  };
}

}  // namespace perennial::tool
