#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cmd/common/token.h"
#include "cmd/common/tool/quiet.h"
#include "cmd/perennial/users/commands.h"
#include "engine/types/status.h"

namespace perennial::tool {
namespace {

struct TokenNewOptions {
  std::string user = "NAME";
  std::string id;  // Empty: a random one.
};

// perennial token new: prints a new token, and what the server keeps of it.
Status token_new(const TokenNewOptions& options) {
  if (!options.id.empty() && !common::is_token_id(options.id)) {
    return {StatusCode::InvalidArgument,
            fmt::format("--id has 1 to {} small letters and digits", common::token_id_bytes_max)};
  }
  const Result<std::string> token = common::make_token(options.id);
  if (!token.ok()) return token.status();
  fmt::print("{}\n", *token);
  if (is_quiet()) return {};
  fmt::print(stderr, "- name: {}\n  tokens: [\"{}\"]\n", options.user,
             common::token_text(common::token_record(*token)));
  return {};
}

}  // namespace

Subcommand token_new_command() {
  const auto options = std::make_shared<TokenNewOptions>();
  return {
      .name = "token new",
      .summary = "Make a token for a user of the server",
      .about =
          "Prints the token on standard output, and on standard error the lines for the setting "
          "'users' or for 'users_file'. The token is 256 random bits. It is not kept anywhere: the "
          "server has only its SHA-256.\n\n"
          "Clients send it as their first command, 'auth TOKEN'; the commands of perennial take it "
          "from --token-file or from the environment variable PERENNIAL_TOKEN.",
      .examples =
          "  umask 077 && perennial token new --user mailer >mailer.token\n"
          "  perennial put --token-file mailer.token --tube mail hello\n",
      .flags =
          {
              {"--user", "NAME", "The name of the user, for the lines", &options->user},
              {"--id", "ID", "The id of the token: small letters and digits; random if not given",
               &options->id},
          },
      .run = [options] { return token_new(*options); },
  };
}

}  // namespace perennial::tool
