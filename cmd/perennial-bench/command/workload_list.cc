#include "cmd/perennial-bench/command/workload_list.h"

namespace perennial::bench {

const std::vector<Workload>& all_workloads() {
  static const std::vector<Workload> all = {
      {"put", "puts from 50 and from 200 connections, one in flight each"},
      {"put-pipelined", "puts from 8 connections, 64 in flight each"},
      {"cycle", "put, reserve, delete: 25 producers and 25 workers, one in flight each"},
      {"cycle-deep",
       "the same with 8 producers, 32 in flight each, and 32 workers that reserve "
       "ahead"},
      {"cycle-batch",
       "put, reserve, delete one after the other: one job at a time, and batches of 100 (--batch) "
       "on one and on 8 connections; a server without batches does the first only"},
      {"latency", "one connection that puts, one in flight"},
      {"steady",
       "50 connections that put 20,000 a second together (--rate), each timed from when it was "
       "due"},
      {"mixed",
       "50 connections that put, reserve, delete, release, bury, kick and peek, drawn by "
       "weights"},
      {"backlog",
       "the cost of a put, and of a reserve with its delete, while 10 thousand, 1 "
       "million and 10 million jobs wait"},
      {"tubes",
       "put and cycle with 10,000 tubes and 10,000 idle connections, against one tube "
       "and none"},
      {"bodies", "puts of 64 B, 1 KB, 16 KB and 64 KB from 50 connections"},
      {"memory", "resident bytes of a server that holds 3 million jobs of 1,000 bytes"},
      {"restart", "seconds from its exec to its first answer, after kill -9 with as many jobs"},
      {"drain",
       "20 million jobs of 1,000 bytes put and then reserved and deleted, as fast as it goes, and "
       "what the server holds resident meanwhile"},
      {"disk",
       "bytes on disk within a minute after a million jobs were put and deleted, and the same "
       "with one old buried job left behind"},
      {"custom", "puts with --connections, --in-flight, --tubes and --idle of your own"},
  };
  return all;
}

}  // namespace perennial::bench
