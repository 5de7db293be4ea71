#include "cmd/perennial-bench/load/replies.h"

#include <charconv>

#include "cmd/perennial-bench/load/reply_end.h"

namespace perennial::bench {

bool is_expected(Operation operation, std::string_view line) {
  switch (operation) {
    case Operation::Setup:
      return line.starts_with("USING ") || line.starts_with("WATCHING ");
    case Operation::Put:
      return line.starts_with("INSERTED ");
    case Operation::Reserve:
      return line.starts_with("RESERVED ");
    case Operation::PutBatch:
      return line.starts_with("INSERTED_BATCH ") && number_in(line, 1) == 0;
    case Operation::ReserveBatch:
      return line.starts_with("RESERVED_BATCH ") && number_in(line, 0).value_or(0) > 0;
    case Operation::DeleteBatch:
      return line.starts_with("DELETED_BATCH ") && number_in(line, 1) == 0;
    case Operation::Poll:
      return line.starts_with("RESERVED ") || line == "TIMED_OUT";
    case Operation::Delete:
      return line == "DELETED";
    case Operation::Release:
      return line == "RELEASED";
    case Operation::Bury:
      return line == "BURIED";
    case Operation::Kick:
      return line.starts_with("KICKED ");
    case Operation::Peek:
      return line.starts_with("FOUND ") || line == "NOT_FOUND";
    case Operation::ReserveDelete:
    case Operation::Cycle:
    case Operation::All:
      return false;  // A load never sends such an operation.
  }
  return false;
}

JobId job_of(std::string_view line) {
  line.remove_prefix(line.find(' ') + 1);
  JobId job = 0;
  std::from_chars(line.data(), line.data() + line.size(), job);
  return job;
}

}  // namespace perennial::bench
