// Real clients, unmodified, against a real server: each script drives one client library through
// all that it can do and exits with 1 at the first surprise.
//
//   clients_test [--beanstalkd]
//
// With BEANSTALKD in the environment, --beanstalkd runs them against it, to see what a script is
// worth. The clients from npm are installed into the build folder by the first run.

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/server_process.h"

namespace perennial::clients {
namespace {

const std::string scripts_dir = CLIENTS_SOURCE_DIR;
const std::string modules_dir = CLIENTS_BUILD_DIR "/node";
support::Program program = support::Program::Perenniald;

struct ClientCase {
  const char* name;
  const char* interpreter;
  const char* script;
};

void PrintTo(const ClientCase& client, std::ostream* out) {
  *out << client.script;
}

class Clients : public testing::TestWithParam<ClientCase> {};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Runs a shell command, stores its output in `output`, and returns whether it succeeded.
bool run(const std::string& command, const std::string& output_path, std::string& output) {
  const int status = std::system(fmt::format("({}) >'{}' 2>&1", command, output_path).c_str());
  output = text_of(output_path);
  return status == 0;
}

TEST_P(Clients, WorksUnmodified) {
  const ClientCase& client = GetParam();
  support::ServerProcess server({.program = program});
  const Status started = server.start();
  ASSERT_TRUE(started.ok()) << started.message();
  std::string output;
  const std::string output_path = server.dir() + "/output";
  const bool from_npm = std::string_view(client.interpreter) == "node";
  const std::string install = fmt::format("'{}/node/install.sh' '{}'", scripts_dir, modules_dir);
  ASSERT_TRUE(!from_npm || run(install, output_path, output)) << output;
  const size_t colon = server.address().find(':');
  const std::string command = fmt::format(
      "NODE_PATH='{}/node_modules' {} '{}/{}' {} {}", modules_dir, client.interpreter, scripts_dir,
      client.script, server.address().substr(0, colon), server.address().substr(colon + 1));
  EXPECT_TRUE(run(command, output_path, output)) << output << server.stderr_text();
  ASSERT_TRUE(server.running());
  const Result<support::Ended> end = server.terminate();
  ASSERT_TRUE(end.ok()) << end.status().message();
  // beanstalkd has no clean stop, so the signal ends it.
  const bool stops_cleanly = program == support::Program::Perenniald;
  EXPECT_TRUE(!stops_cleanly || end->code == 0) << server.stderr_text();
}

INSTANTIATE_TEST_SUITE_P(
    Library, Clients,
    testing::Values(ClientCase{"Jackd", "node", "node/jackd.js"},
                    ClientCase{"Fivebeans", "node", "node/fivebeans.js"},
                    ClientCase{"NodeBeanstalk", "node", "node/node-beanstalk.js"},
                    ClientCase{"Beaneater", "ruby", "beaneater.rb"},
                    ClientCase{"Pheanstalk", "php", "pheanstalk.php"}),
    [](const testing::TestParamInfo<ClientCase>& param) { return param.param.name; });

}  // namespace
}  // namespace perennial::clients

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "--beanstalkd")
    perennial::clients::program = perennial::support::Program::Beanstalkd;
  return RUN_ALL_TESTS();
}
