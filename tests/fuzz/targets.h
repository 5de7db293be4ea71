#pragma once

#include <span>
#include <string_view>

// The fuzz targets: tests/README.md, "Fuzzers". Each target accepts any bytes, and stops the
// process with a CHECK if the tested code breaks its promises. It keeps no state between inputs.
namespace perennial::fuzz {

// The parser of commands: any split of the bytes gives the same commands, and each command can be
// formatted and parsed again.
void parser(std::string_view input);
// The client's parser of replies, with the same promises.
void reply_parser(std::string_view input);
// Every row on disk, and manifest.json of a checkpoint: what decodes encodes to the same bytes.
void rows(std::string_view input);
// The bytes of a batch: what decodes encodes to the same bytes.
void batch(std::string_view input);
// Damaged logs of RocksDB: truncated where history ends, they are undamaged and end with the same
// commit.
void log_scan(std::string_view input);
// RocksDB's MANIFEST, alone and judged together with its logs.
void manifest(std::string_view input);
// Requests of HTTP: any split of the bytes gives the same requests and the same refusal, and they
// are those of a naive reader that knows nothing which proxies could read in another way.
void http(std::string_view input);
// perenniald's YAML and flags: accepted settings are printed in a form that parses to the same
// settings.
void config(std::string_view input);
// The lines of a dump: what is parsed and written again parses to the same.
void dump(std::string_view input);
// perennial load: a dump makes a directory whose dump is the same, or leaves nothing.
void load(std::string_view input);
// beanstalkd's binlog: what is read is consistent and can be written.
void binlog(std::string_view input);
// Clients, time, crashes and a faulty disk on the whole of core, with a store in memory.
void core(std::string_view input);
// The queues between the loop and the threads that move the bytes of sessions, clients, and the
// order in which all of them go on: no byte is lost, and nobody oversleeps.
void io_threads(std::string_view input);
// Bytes from the network before, in and behind a TLS handshake: nobody gets in, and nothing is
// read, without the keys.
void tls(std::string_view input);

struct Target {
  std::string_view name;
  void (*run)(std::string_view input);
};

inline constexpr Target targets[] = {
    {"batch", batch},
    {"binlog", binlog},
    {"config", config},
    {"core", core},
    {"dump", dump},
    {"http", http},
    {"io_threads", io_threads},
    {"load", load},
    {"log_scan", log_scan},
    {"manifest", manifest},
    {"parser", parser},
    {"reply_parser", reply_parser},
    {"rows", rows},
    {"tls", tls},
};

}  // namespace perennial::fuzz
