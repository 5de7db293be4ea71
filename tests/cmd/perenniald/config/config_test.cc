#include "cmd/perenniald/config/config.h"

#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cmd/common/units.h"
#include "cmd/perenniald/config/config_origin.h"

namespace perennial::perenniald {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

uint64_t& number_of(Config& config, const ConfigField& field) {
  return *static_cast<uint64_t*>(field.value(&config));
}

Problems read(Config& config, const std::string& yaml) {
  return read_config(config, yaml, "f");
}

// Every setting as text, by key.
std::string all_of(const Config& config) {
  std::string text;
  for (const ConfigField& field : config_fields()) {
    text += fmt::format("{}={}\n", field.key, config_text(config, field));
  }
  return text;
}

TEST(Config, EachNumberIsAcceptedAtItsBoundsAndNotPastThem) {
  for (const ConfigField& field : config_fields()) {
    if (!field.is_bounded()) continue;
    for (const uint64_t value : {field.lowest, field.highest}) {
      Config config = default_config();
      EXPECT_THAT(read(config, fmt::format("{}: {}", field.key, value)), IsEmpty());
      EXPECT_EQ(number_of(config, field), value) << field.key;
    }
    const std::string past = fmt::format("{}", field.highest + 1);
    const std::string below = field.lowest == 0 ? "-1" : fmt::format("{}", field.lowest - 1);
    for (const std::string& value : {past, below}) {
      Config config = default_config();
      EXPECT_THAT(read(config, fmt::format("\n{}: {}", field.key, value)),
                  ElementsAre(testing::AllOf(
                      HasSubstr(fmt::format("f:2: {}: '{}' is not a ", field.key, value)),
                      HasSubstr(" from "), HasSubstr(" to "))));
      EXPECT_EQ(all_of(config), all_of(default_config()));
    }
  }
}

TEST(Config, AFormerKeyIsStillRead) {
  Config config = default_config();
  EXPECT_THAT(read(config, "moves_per_turn_max: 7"), IsEmpty());
  EXPECT_EQ(config.transitions_per_turn_max, 7U);
  EXPECT_THAT(read(config, "moves_per_turn_max: 7\ntransitions_per_turn_max: 8"),
              ElementsAre(HasSubstr("f:2: transitions_per_turn_max: set twice")));
}

std::string many_patterns(int count) {
  std::string list;
  for (int i = 0; i < count; ++i) list += "a" + std::to_string(i) + ", ";
  return list;
}

std::string repeated(const std::string& item, int count) {
  std::string list;
  for (int i = 0; i < count; ++i) list += item + ", ";
  return list;
}

TEST(Config, SettingsOfOtherKindsAreAcceptedAndRefused) {
  struct Case {
    std::string yaml;
    std::string problem;  // Empty: none.
  };
  const Case cases[] = {
      {"port: 0", ""},
      {"port: 65535", ""},
      {"port: http", ""},
      {"port: 65536", "f:1: port: '65536' is no port"},
      {"port: no-such-service", "f:1: port: 'no-such-service' is no port"},
      {"durability: commit", ""},
      {"durability: interval", ""},
      {"durability: never", ""},
      {"durability: always", "f:1: durability: 'always' is not one of commit, interval, never"},
      {"checkpoint_from: local", ""},
      {"checkpoint_from: any", ""},
      {"checkpoint_from: all", "f:1: checkpoint_from: 'all' is not one of local, any"},
      {"extensions: all", ""},
      {"extensions: none", ""},
      {"extensions: []", ""},
      {"extensions: peek-reserved", ""},
      {"extensions: [peek-reserved]", ""},
      {"extensions: [none]", "f:1: extensions: 'none' stands alone, not in a list"},
      {"extensions: [peek-reserved,\n  all]", "f:2: extensions: 'all' stands alone, not in a list"},
      {"extensions: [peek]", "f:1: extensions: 'peek' is not all, none, or a list of: batch, "},
      {"extensions: some", "f:1: extensions: 'some' is not all, none, or a list of: batch, "},
      {"extensions: [[peek-reserved]]", "f:1: extensions: expected one value"},
      {"extensions: {a: b}", "f:1: extensions: expected one value"},
      {"admin_on: any", ""},
      {"admin_on: unix", ""},
      {"admin_on: none", ""},
      {"admin_on: local", "f:1: admin_on: 'local' is not one of any, unix, none"},
      {"tubes:", ""},
      {"tubes: {}", ""},
      {"tubes: {mail: {tries: 3}}", ""},
      {"tubes: {'mail-*': {tries: 3, backoff: '5:60', dead: d}, '*': {expire: 250ms}}", ""},
      {"tubes: {mail: {reserved: 4, rate: '10:1', drain: yes}}", ""},
      {"tubes: mail", "f:1: tubes: expected lines of the form 'tube: {tries: 3}'"},
      {"tubes: {mail: 3}", "f:1: tubes: expected a name and settings, as in 'mail: {tries: 3}'"},
      {"tubes: {mail: {}}", "f:1: tubes: mail: '' are not settings of a tube"},
      {"tubes: {mail: {keep: 1d}}",
       "f:1: tubes: mail: 'keep:1d' are not settings of a tube: tries, backoff, dead, expire, "
       "reserved, "
       "rate, drain, keep, keep-max, each with a value as in set-tube: a time is a number of "
       "seconds"},
      {"tubes:\n  mail: {tries: 0}", "f:2: tubes: mail: 'tries:0' are not settings of a tube"},
      {"tubes: {mail: {tries: 3, con: k}}", "f:1: tubes: mail: 'tries:3 con:k' are not settings"},
      {"tubes: {mail: {tries: [3]}}", "f:1: tubes: mail: expected one value"},
      {"tubes: {mail: {tries: 3, tries: 4}}", "f:1: tubes: mail: 'tries:3 tries:4' are not"},
      {"tubes: {mail: {tries: 3}, mail: {tries: 4}}", "f:1: tubes: mail: set twice"},
      {"tubes: {-x: {tries: 3}}", "f:1: tubes: -x: this is neither the name of a tube nor"},
      {"tubes: {'a*b': {tries: 3}}", "f:1: tubes: a*b: this is neither the name of a tube nor"},
      {"io_threads: auto", ""},
      {"io_threads: 0", ""},
      {"io_threads: 64", ""},
      {"io_threads: 65", "f:1: io_threads: '65' is neither auto nor a whole number from 0 to 64"},
      {"io_threads: all", "f:1: io_threads: 'all' is neither auto nor a whole number from 0 to 64"},
      {"io_threads: -1", "f:1: io_threads: '-1' is neither auto"},
      {"core_dumps: true", ""},
      {"core_dumps: false", ""},
      {"core_dumps: yes", "f:1: core_dumps: 'yes' is not true or false"},
      {"core_dumps:", "f:1: core_dumps: expected one value"},
      {"checkpoint_dir: ''", ""},
      {"checkpoint_dir: /a b", ""},
      {"checkpoint_every_s: 1h", "f:1: checkpoint_every_s: '1h' is not a whole number from 0 to "},
      {"listen: 127.0.0.1", ""},
      {"listen: [127.0.0.1, 'unix:/run/p', '[::1]:80']", ""},
      {"listen:", ""},
      {"listen: [127.0.0.1,\n  a/b]", "f:2: listen: 'a/b' is no address"},
      {"listen: {a: b}", "f:1: listen: expected an address or a list"},
      {"listen: [[a]]", "f:1: listen: expected one value"},
      {"listeners:", ""},
      {"listeners: []", ""},
      {"listeners: [{address: 'unix:/run/p'}]", ""},
      {"listeners: [{address: ':0', tls: {certificate: a, key: b}}]", ""},
      {"listeners: [{address: a, tls: {certificate: b, key: c, client_ca: d, crl: e}}]", ""},
      {"listeners: [{address: a, tls: {certificate: b, key: c, client_ca: d, client: request}}]",
       ""},
      {"listeners: a", "f:1: listeners: expected a list of {address: ..., tls: {...}}"},
      {"listeners:\n- a", "f:2: listeners: expected {address: ..., tls: {...}}"},
      {"listeners: [{}]", "f:1: listeners: a listener needs an address"},
      {"listeners: [{address: a/b}]", "f:1: listeners: address: 'a/b' is no address"},
      {"listeners: [{address: [a]}]", "f:1: listeners: address: expected one value"},
      {"listeners: [{[a]: b}]", "f:1: listeners: expected the name of a setting"},
      {"listeners: [{address: a, address: b}]", "f:1: listeners: address: set twice"},
      {"listeners: [{address: a, user: u}]", ""},
      {"listeners: [{address: a, proxy: true, proxy_from: '10.0.0.0/8, 192.0.2.1'}]", ""},
      {"listeners: [{address: a, proxy: true}]", "f:1: listeners: proxy needs proxy_from"},
      {"listeners: [{address: a, proxy_from: 10.0.0.1}]",
       "f:1: listeners: proxy_from is set, and proxy is not"},
      {"listeners: [{address: a, proxy: maybe}]", "f:1: listeners: proxy: 'maybe' is not one of"},
      {"listeners: [{address: a, proxy: true, proxy_from: b}]", "f:1: listeners: proxy_from: "},
      {"listeners: [{address: 'unix:/a', mode: 0660, owner: b, group: 7}]", ""},
      {"listeners: [{address: 'unix:/a', mode: 660}]", ""},
      {"listeners: [{address: 'unix:/a', mode: 0668}]",
       "f:1: listeners: mode: '0668' is not a mode"},
      {"listeners: [{address: 'unix:/a', mode: 07770}]", "f:1: listeners: mode: '07770' is not a"},
      {"listeners: [{address: 'unix:/a', mode: rw}]", "f:1: listeners: mode: 'rw' is not a mode"},
      {"listeners: [{address: 'unix:/a', group: ''}]", "f:1: listeners: group: expected a name"},
      {"listeners: [{address: a, mode: 0660}]",
       "f:1: listeners: mode, owner and group are those of a socket file"},
      {"http_proxies: 127.0.0.1", ""},
      {"http_proxies: [10.0.0.0/8, 'fd00::1', unix]", ""},
      {"http_proxies:", ""},
      {"http_proxies: {a: b}", "f:1: http_proxies: expected an address or a list of them"},
      {"http_proxies: proxy.test", "f:1: http_proxies: 'proxy.test' is no address in numbers"},
      {"http_proxies: 0.0.0.0/0", "f:1: http_proxies: '0.0.0.0/0' is everybody"},
      {"http_proxies: [" + repeated("unix", 50) + "]", ""},
      {"http_proxies: [" + repeated("unix", 51) + "]", "f:1: http_proxies: at most 50 proxies"},
      {"metrics_tubes: mail-*", ""},
      {"metrics_tubes: ['*', 'mail-*', '*-x']", ""},
      {"metrics_tubes:", ""},
      {"metrics_tubes: {a: b}", "f:1: metrics_tubes: expected a pattern or a list of them"},
      {"metrics_tubes: ['a b']", "f:1: metrics_tubes: 'a b' is not the name of a tube"},
      {"metrics_tubes: ['']", "f:1: metrics_tubes: '' is not the name of a tube"},
      {"metrics_tubes: [" + many_patterns(50) + "]", ""},
      {"metrics_tubes: [" + many_patterns(51) + "]", "f:1: metrics_tubes: at most 50 patterns"},
      {"metrics_tube_histograms: [orders, 'mail-*']", ""},
      {"metrics_tube_histograms: ['a b']",
       "f:1: metrics_tube_histograms: 'a b' is not the name of a tube"},
      {"metrics_tube_histograms: [" + many_patterns(51) + "]",
       "f:1: metrics_tube_histograms: at most 50 patterns"},
      {"metrics_tube_groups: {'mail-*': mail, '*': rest}", ""},
      {"metrics_tube_groups: {}", ""},
      {"metrics_tube_groups: [a]", "f:1: metrics_tube_groups: expected lines of the form"},
      {"metrics_tube_groups: {a: [b]}", "f:1: metrics_tube_groups: expected a pattern and a name"},
      {"metrics_tube_groups: {a: b, a: c}", "f:1: metrics_tube_groups: a: set twice"},
      {"metrics_tube_groups: {a: 'b c'}", "f:1: metrics_tube_groups: 'b c' could not be the name"},
      {"metrics_tube_groups: {a: '{other}'}", "f:1: metrics_tube_groups: '{other}' could not be"},
      {"metrics_tube_groups: {'a b': c}", "f:1: metrics_tube_groups: 'a b' is not"},
      {"users:", ""},
      {"users: [{name: a, uids: [0, 33], gids: 5, certificates: CN=a}]", ""},
      {"users: [{name: a, grants: [{tubes: ['mail*'], verbs: [produce, consume]}]}]", ""},
      {"users: [{name: a, grants: [{verbs: monitor}]}]", ""},
      {"users: [{name: a, tokens: ['k:sha256:" + std::string(64, 'a') + "']}]", ""},
      {"users: a", "f:1: users: expected a list of {name: ..., tokens: [...], grants: [...]}"},
      {"users: [a]", "f:1: users: expected {name: ..., tokens: [...], grants: [...]}"},
      {"users: [{}]", "f:1: users: a user needs a name"},
      {"users: [{name: 'a b'}]", "f:1: users: name: 'a b' is not 1 to 64 letters, digits and"},
      {"users: [{name: a, name: b}]", "f:1: users: name: set twice"},
      {"users: [{name: [a, b]}]", "f:1: users: name: expected one value"},
      {"users: [{name: a, password: b}]", "f:1: users: password: there is no such setting of a"},
      {"users: [{name: a, uids: [x]}]", "f:1: users: uids: 'x' is not the number of a user or a"},
      {"users: [{name: a, uids: [4294967295]}]", "f:1: users: uids: '4294967295' is not the"},
      {"users: [{name: a, uids: [[1]]}]", "f:1: users: uids: expected a list of words"},
      {"users: [{name: a, tokens: [prn_k_secret]}]", "f:1: users: tokens: a token is kept as"},
      {"users: [{name: a, certificates: ['']}]", "f:1: users: certificates: a name has 1 to"},
      {"users: [{name: a, grants: b}]", "f:1: users: grants: expected a list of {tubes: [...], "},
      {"users: [{name: a, grants: [b]}]", "f:1: users: grants: expected {tubes: [...], verbs: "},
      {"users: [{name: a, grants: [{tubes: b}]}]", "f:1: users: grants: a grant needs verbs"},
      {"users: [{name: a, grants: [{verbs: produce}]}]", "f:1: users: grants: a grant needs tubes"},
      {"users: [{name: a, grants: [{tubes: b, verbs: write}]}]",
       "f:1: users: grants: verbs: 'write' is not one of produce, consume, inspect, manage, "},
      {"users: [{name: a, grants: [{tubes: 'b c', verbs: produce}]}]",
       "f:1: users: grants: tubes: 'b c' is not the name of a tube"},
      {"users: [{name: a, grants: [{pattern: b}]}]", "f:1: users: grants: pattern: there is no"},
      {"listeners: [{address: a, port: 1}]", "f:1: listeners: port: there is no such setting"},
      {"listeners: [{address: a, tls: }]", "f:1: listeners: tls: expected {certificate: ..., "},
      {"listeners: [{address: a, tls: {}}]", "f:1: listeners: tls: expected {certificate: ..., "},
      {"listeners: [{address: a, tls: on}]", "f:1: listeners: tls: expected {certificate: ..., "},
      {"listeners: [{address: a, tls: {key: b}}]", "f:1: listeners: tls needs certificate and key"},
      {"listeners: [{address: a, tls: {pem: b}}]", "f:1: listeners: tls.pem: there is no such"},
      {"listeners: [{address: a, tls: {key: ''}}]", "f:1: listeners: tls.key: expected the path"},
      {"listeners: [{address: a, tls: {tls: {key: b}}}]",
       "f:1: listeners: tls.tls: there is no such setting: certificate, key"},
      {"listeners: [{address: a, tls: {certificate: b, key: c, client: yes}}]",
       "f:1: listeners: tls.client: 'yes' is not one of none, request, require"},
      {"listeners: [{address: a, tls: {certificate: b, key: c, client: require}}]",
       "f:1: listeners: tls.client asks for certificates that no tls.client_ca can have issued"},
      {"listeners: [{address: a, tls: {certificate: b, key: c, client: none, client_ca: d}}]",
       "f:1: listeners: tls.client_ca is set, and tls.client is none"},
      {"listeners: [{address: a, tls: {certificate: b, key: c, crl: d}}]",
       "f:1: listeners: tls.crl is set, and tls.client_ca is not"},
      {"data_dir: ''", "f:1: data_dir: must not be empty"},
      {"data_dir: /a b", ""},
      {"data_dir: [a]", "f:1: data_dir: expected one value"},
      {"data_dir: \"a\\tb\\u0085c\\n\"", ""},
      {"data_dir: \"a\\0b\"", "f:1: data_dir: must not hold a NUL byte"},
      {"data_dir: a\xff", ""},
      {"data_dir: '#\xff'", "f:1: data_dir: must be UTF-8 text"},
      {"listen: 'a,\xff'", "f:1: listen: must be UTF-8 text"},
      {"listen: [\"unix:\\0\"]", "f:1: listen: must not hold a NUL byte"},
      {"user: ''", ""},
      {"user: queue", ""},
      {"job_bytes_max: 1MiB", ""},
      {"job_bytes_max: 1.5MiB",
       "f:1: job_bytes_max: '1.5MiB' is not a number of bytes from 1 to 1GiB"},
      {"jobs_max: 1MiB", "f:1: jobs_max: '1MiB' is not a whole number from 0 to "},
      {"jobs_max:", "f:1: jobs_max: expected one value"},
      {"", ""},
      {"# nothing", ""},
      {"[a, b]", "f:1: expected lines of the form"},
      {"just words", "f:1: expected lines of the form"},
      {"a: b: c", "f:1: "},
      {"port: 1\n  user: [", "f:2: "},
      {"[1]: 2", "f:1: expected the name of a setting"},
      {"port: 1\nport: 2", "f:2: port: set twice"},
      {"tubes_max: 67108864", ""},
      {"tubes_max: 67108865",
       "f:1: tubes_max: '67108865' is not a whole number from 1 to 67108864"},
      {"---\nport: 1\n...\n# nothing", ""},
      {"port: 1\n---\nlisten: 127.0.0.1", "f:3: a second document"},
      {"listen: 127.0.0.1\n---\n", "f:3: a second document"},
      {"# nothing\n---\nport: 1\n---\nport: 1\n--- 7", "f:5: a second document"},
      {"port: 1\n---\nuser: [", "f:3: "},
      {", port: 1", "f:1: what stands here belongs to no value"},
      {"port: 1\n---\n, 1", "f:3: a second document"},
  };
  for (const Case& c : cases) {
    Config config = default_config();
    const Problems problems = read(config, c.yaml);
    if (c.problem.empty()) {
      EXPECT_THAT(problems, IsEmpty()) << c.yaml;
    } else {
      EXPECT_THAT(problems, ElementsAre(HasSubstr(c.problem))) << c.yaml;
    }
  }
}

TEST(Config, EveryProblemIsReportedWithItsLine) {
  Config config = default_config();
  EXPECT_THAT(
      read(config, "prot: 1\njobs_max: x\nverbosity: 1\nverbosity: 9\nmax: 2\n"),
      ElementsAre(HasSubstr("f:1: prot: there is no such setting"),
                  HasSubstr("f:2: jobs_max: 'x' is not"), HasSubstr("f:4: verbosity: set twice"),
                  HasSubstr("f:5: max: there is no such setting")));
}

TEST(Config, APrintedConfigurationReadsAsTheSame) {
  Config config = default_config();
  ASSERT_THAT(
      read(config,
           "listen: ['unix:/run/p', '[::1]:80']\nport: 1\nuser: 'yes'\n"
           "data_dir: '#1: a \"b\"'\ndurability: interval\njobs_max: 5\n"
           "job_bytes_max: 3MiB\noutput_bytes_max: 70001\ncheckpoint_from: any\n"
           "checkpoint_dir: c\ncore_dumps: true\nio_uring: false\nio_threads: 3\nadmin_on: unix\n"
           "listeners: [{address: a, tls: {certificate: 'b}, {', key: c, client_ca: d}},\n"
           "{address: 'unix:e', user: ann}]\n"
           "users_file: u\nauth_plaintext: true\n"
           "users: [{name: ann, certificates: ['CN=a, \"b\"', 'x'], uids: [0, 7], gids: 3,\n"
           "grants: [{tubes: ['*', 'a*b'], verbs: [manage, produce]}, {verbs: admin}]},\n"
           "{name: bob}]\n"
           "http_proxies: ['::1', 10.0.0.0/8, unix]\n"
           "metrics_tubes: ['a*', b]\nmetrics_tube_groups: {'c*': c, '*': d}\n"
           "metrics_tube_histograms: ['e*']\n"
           "tubes: {'mail-*': {tries: 5, backoff: '10:600'}, m: {rate: '3:250ms'}}\n"),
      IsEmpty());
  Config again = default_config();
  ASSERT_THAT(read(again, print_config(config)), IsEmpty());
  EXPECT_EQ(all_of(again), all_of(config));
  EXPECT_NE(all_of(again), all_of(default_config()));
}

TEST(Config, ExtensionsAreTheWordsOrTheNamesOfAList) {
  const std::pair<std::string, ExtensionSet> cases[] = {
      {"all", ExtensionSet::all()},
      {"none", ExtensionSet()},
      {"[]", ExtensionSet::probe()},
      {"peek-reserved", ExtensionSet::probe().with(Extension::PeekReserved)},
      {"[peek-reserved, peek-reserved]", ExtensionSet::probe().with(Extension::PeekReserved)},
  };
  for (const auto& [text, want] : cases) {
    for (const std::string before : {"all", "none"}) {
      Config config = default_config();
      ASSERT_THAT(read(config, "extensions: " + before), IsEmpty());
      ASSERT_THAT(read(config, "extensions: " + text), IsEmpty()) << text;
      EXPECT_EQ(config.extensions, want) << text;
      Config again = default_config();
      ASSERT_THAT(read(again, print_config(config)), IsEmpty()) << print_config(config);
      EXPECT_EQ(again.extensions, want) << text;
    }
  }
}

TEST(Config, TextsThatNeedQuotesArePrintedWithThem) {
  for (const std::string text :
       {"\r", "a\r", "\n", " a", "a ", "a, b", "[a", "#a", "a: b", "~", "null", "'", "\"", "\\",
        "\x01\x7f", "\u0085", "\u2028", "\ufeff", "-"}) {
    Config config = default_config();
    config.data_dir = text;
    config.listen = {"unix:" + text, "unix:b"};
    Config again = default_config();
    EXPECT_THAT(read(again, print_config(config)), IsEmpty()) << testing::PrintToString(text);
    EXPECT_EQ(again.data_dir, text);
    EXPECT_EQ(again.listen, config.listen);
  }
}

TEST(Config, AListenerWithACaRequiresCertificatesAndTheOtherPort) {
  Config config = default_config();
  ASSERT_THAT(read(config,
                   "listeners:\n"
                   "- {address: 127.0.0.1, tls: {certificate: a, key: b, client_ca: c}}\n"
                   "- {address: 127.0.0.1, tls: {certificate: a, key: b}}\n"
                   "- {address: 127.0.0.1}\n"),
              IsEmpty());
  ASSERT_EQ(config.listeners.size(), 3U);
  EXPECT_EQ(config.listeners[0].tls->client, ClientCertificate::Require);
  EXPECT_EQ(config.listeners[1].tls->client, ClientCertificate::None);
  EXPECT_FALSE(config.listeners[2].tls);
  EXPECT_EQ(listener_address(config.listeners[1], config.port)->port, 11400);
  EXPECT_EQ(listener_address(config.listeners[2], config.port)->port, 11300);
}

TEST(Config, TheFileInEtcShowsEveryDefault) {
  std::ifstream file(CONFIG_FILE);
  std::vector<std::string> settings;
  bool comment_above = false;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) {
      comment_above = !line.empty();
      continue;
    }
    // reserved_max shares the comment of the setting before it.
    EXPECT_TRUE(comment_above || line.starts_with("reserved_max")) << line;
    comment_above = false;
    settings.push_back(line);
  }
  std::vector<std::string> defaults;
  const std::string printed = print_config(default_config());
  for (size_t at = 0; at < printed.size();) {
    const size_t end = printed.find('\n', at);
    if (printed[at] != '#') defaults.push_back(printed.substr(at, end - at));
    at = end + 1;
  }
  EXPECT_EQ(settings, defaults);
  Config config{};
  EXPECT_THAT(read_config_file(config, CONFIG_FILE), IsEmpty());
  EXPECT_EQ(all_of(config), all_of(default_config()));
}

TEST(Config, DefaultsAreThoseOfTheDesign) {
  const Config config = default_config();
  EXPECT_EQ(config.data_dir, "perennial-data");
  EXPECT_EQ(config.port, 11300);
  EXPECT_THAT(config.listen, IsEmpty());
  EXPECT_EQ(config.durability, store::Durability::Commit);
  EXPECT_EQ(config.extensions, ExtensionSet::all());
  EXPECT_EQ(config.job_bytes_max, 65'535u);
  EXPECT_EQ(config.tubes_max, 1'000'000u);
  EXPECT_EQ(config.watched_max, 100'000u);
  EXPECT_EQ(config.reserved_max, 100'000u);
  EXPECT_EQ(config.pipeline_bytes_max, 64u << 10);
  EXPECT_EQ(config.output_bytes_max, 4u << 20);
  EXPECT_EQ(config.output_total_bytes_max, 256u << 20);
  EXPECT_EQ(config.transitions_per_turn_max, 10'000u);
  EXPECT_EQ(config.checkpoint_dir, "");
  EXPECT_EQ(config.checkpoint_every_s, 0u);
  EXPECT_EQ(config.checkpoint_keep, 3u);
  EXPECT_EQ(config.checkpoint_from, CheckpointFrom::Local);
  EXPECT_EQ(config.admin_on, AdminOn::Any);
  EXPECT_EQ(config.keys_max, 0u);
  EXPECT_EQ(config.settings_max, 10'000u);
  EXPECT_EQ(config.schedules_max, 100'000u);
  EXPECT_THAT(config.tubes, IsEmpty());
  EXPECT_FALSE(config.core_dumps);
  EXPECT_TRUE(config.io_uring);
  EXPECT_EQ(config.io_threads, std::nullopt);
  EXPECT_EQ(config.jobs_max + config.memory_bytes_max + config.connections_max, 0u);
}

// At both ends of its range: no option of a layer is narrower than its setting.
TEST(Config, EverySettingReachesItsLayer) {
  for (const ConfigField& field : config_fields()) {
    if (!field.is_bounded() || field.origin.from_layers == nullptr) continue;
    for (const uint64_t value : {field.lowest, field.highest}) {
      Config config = default_config();
      number_of(config, field) = value;
      LayerOptions layers;
      set_layer_options(config, layers);
      Config again{};
      field.origin.from_layers(layers, again);
      EXPECT_EQ(number_of(again, field), value) << field.key;
    }
  }
}

TEST(Config, ZeroLetsTheStoreDeriveTheValue) {
  LayerOptions layers;
  set_layer_options(default_config(), layers);
  EXPECT_EQ(layers.store.low_water_bytes, store::derived);
  EXPECT_EQ(layers.store.ballast_bytes, store::derived);
  EXPECT_EQ(layers.store.open_bytes_min, store::derived);
  EXPECT_EQ(layers.store.low_water_files, store::derived);
  Config config = default_config();
  config.low_water_bytes = 5;
  set_layer_options(config, layers);
  EXPECT_EQ(layers.store.low_water_bytes, 5u);
}

TEST(Config, TextsAndWordsReachTheLayers) {
  Config config = default_config();
  config.data_dir = "d";
  config.durability = store::Durability::Never;
  config.recover = store::Recover::PointInTime;
  config.sync_idle_ms = 7;
  LayerOptions layers;
  set_layer_options(config, layers);
  EXPECT_EQ(layers.store.data_dir, "d");
  EXPECT_EQ(layers.store.durability, store::Durability::Never);
  EXPECT_EQ(layers.store.recover, store::Recover::PointInTime);
  EXPECT_EQ(layers.core.sync_idle, 7 * nanos_per_ms);
}

TEST(Config, AFileWithoutEndIsAProblem) {
  Config config = default_config();
  EXPECT_THAT(read_config_file(config, "/dev/zero"),
              ElementsAre(HasSubstr("/dev/zero: is longer than 1048576 bytes")));
}

TEST(Config, AFileThatCannotBeReadIsAProblem) {
  for (const std::string path : {"/no/such/file", "/"}) {
    Config config = default_config();
    EXPECT_THAT(read_config_file(config, path), ElementsAre(HasSubstr(path + ": cannot be read")));
  }
}

}  // namespace
}  // namespace perennial::perenniald
