#pragma once

// Microbenchmarks: the cost of single steps, so that a regression can be located. Each function
// registers the benchmarks of one layer.
namespace perennial::microbench {

class Queues;

void register_parser();
void register_replies();
// `queues` is filled while the benchmarks run, and must outlive them.
void register_engine(Queues& queues);
void register_survivors();
void register_rows();
void register_batches();
void register_latencies();

}  // namespace perennial::microbench
