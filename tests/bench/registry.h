#pragma once

// Microbenchmarks: what one step costs by itself, so that a regression has an address. Each of
// these registers those of one layer.
namespace perennial::microbench {

class Queues;

void register_parser();
void register_replies();
// `queues` is filled as they run, and must outlive them.
void register_engine(Queues& queues);
void register_survivors();
void register_rows();
void register_batches();
void register_latencies();

}  // namespace perennial::microbench
