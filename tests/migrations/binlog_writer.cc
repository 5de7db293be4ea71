#include "tests/migrations/binlog_writer.h"

namespace perennial::migrations {

BinlogBytes::BinlogBytes(uint32_t version) : version_(version) {
  put(version);
}

BinlogBytes& BinlogBytes::add(const LoggedJob& job) {
  const Nanos unit = version_ == 7 ? 1 : 1000;
  if (version_ == 7) {
    put(static_cast<uint32_t>(job.tube.size()));
  } else {
    put(uint64_t{job.tube.size()});
  }
  bytes_ += job.tube;
  put(job.id);
  put(job.priority);
  put(uint32_t{0xdeadbeef});  // The padding may hold any bytes.
  put(job.delay / unit);
  put(job.ttr / unit);
  put(static_cast<int32_t>(job.body.size() + 2));
  put(uint32_t{0xdeadbeef});
  put(job.created / unit);
  put(job.deadline / unit);
  for (const uint32_t count : {job.reserves, job.timeouts, job.releases, job.buries, job.kicks}) {
    put(count);
  }
  put(job.state);
  if (version_ == 7) bytes_ += "pad";
  if (!job.tube.empty()) bytes_ += job.body + "\r\n";
  return *this;
}

BinlogBytes& BinlogBytes::zeros(size_t count) {
  bytes_.append(count, '\0');
  return *this;
}

}  // namespace perennial::migrations
