#include "cmd/common/tool/tls_flags.h"

#include <algorithm>
#include <utility>

namespace perennial::tool {
namespace {

constexpr uint64_t timeout_ms_max = uint64_t{7} * 24 * 3'600'000;

}  // namespace

std::vector<Flag> with_tls_flags(common::TlsClientSettings& target, std::vector<Flag> flags) {
  flags.push_back({"--tls", "", "Speak TLS; without --server to 127.0.0.1:11400", &target.is_on});
  flags.push_back({"--ca", "FILE",
                   "With --tls: the CAs of the server; those of the system if not given",
                   &target.ca});
  flags.push_back({"--certificate", "FILE", "With --tls: a certificate to show to the server",
                   &target.certificate});
  flags.push_back({"--key", "FILE", "With --tls: the key of the certificate", &target.key});
  return flags;
}

Flag token_flag(std::string& target) {
  return {"--token-file", "FILE",
          "A file with the token that shows the server who this is; without it the environment "
          "variable PERENNIAL_TOKEN, if it is set",
          &target};
}

Flag insecure_token_flag(bool& target) {
  return {"--insecure-token", "",
          "Send the token to another machine without TLS, where everybody on the way can read it",
          &target};
}

std::vector<Flag> with_server_flags(ServerAddress& target, std::vector<Flag> flags) {
  flags = with_tls_flags(target.tls, std::move(flags));
  flags.push_back(token_flag(target.token_file));
  flags.push_back(insecure_token_flag(target.insecure_token));
  const bool is_taken = std::ranges::find(flags, "--timeout", &Flag::name) != flags.end();
  flags.push_back(
      {.name = is_taken ? "--server-timeout" : "--timeout",
       .value = "DURATION",
       .help = "Give up when the server cannot be reached, or says nothing, for so long",
       .target = &target.timeout,
       .lowest = 1,
       .highest = timeout_ms_max});
  return flags;
}

}  // namespace perennial::tool
