#pragma once

#include <span>
#include <string_view>

// What is fuzzed: tests/README.md, "Fuzzers". Each target takes any bytes, and stops the process by
// a CHECK when what it tests does not keep its promises. It keeps nothing from one input to the
// next.
namespace perennial::fuzz {

// The wire's parser: any split of the bytes gives the same commands, and each command can be said
// again.
void parser(std::string_view input);
// The client's parser of replies: likewise.
void reply_parser(std::string_view input);
// Every row on disk: what decodes encodes to the same bytes. And manifest.json of a checkpoint.
void rows(std::string_view input);
// A batch as bytes: what decodes encodes to the same bytes.
void batch(std::string_view input);
// Logs of RocksDB with damage: cut where history ends, they are whole and end with the same commit.
void log_scan(std::string_view input);
// RocksDB's MANIFEST, alone and judged together with its logs.
void manifest(std::string_view input);
// perenniald's YAML and its flags: what is accepted is printed as what reads as the same.
void config(std::string_view input);
// The lines of a dump: what is read and written again reads as the same.
void dump(std::string_view input);
// perennial load: a dump makes a directory of which a dump gives the same, or leaves nothing.
void load(std::string_view input);
// beanstalkd's binlog: what is read makes sense, and can be written.
void binlog(std::string_view input);
// Clients, time, crashes and a bad disk on the whole of core, with a store in memory.
void core(std::string_view input);

struct Target {
  std::string_view name;
  void (*run)(std::string_view input);
};

inline constexpr Target targets[] = {
    {"batch", batch},       {"binlog", binlog},
    {"config", config},     {"core", core},
    {"dump", dump},         {"load", load},
    {"log_scan", log_scan}, {"manifest", manifest},
    {"parser", parser},     {"reply_parser", reply_parser},
    {"rows", rows},
};

}  // namespace perennial::fuzz
