#include "cmd/perennial/work/shared.h"

#include <cstdio>

#include "cmd/common/tool/quiet.h"

namespace perennial::tool::work {

bool Shared::take_turn() {
  const std::lock_guard lock(mutex_);
  if (!jobs_left_) return true;
  if (*jobs_left_ == 0) return false;
  --*jobs_left_;
  return true;
}

void Shared::log(const LogFields& fields) {
  const std::lock_guard lock(mutex_);
  write(fields);
}

void Shared::server_away(const Status& why) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(away_, true))
    write({{"level", "warning"}, {"at", "work.server_away"}, {"error", why.message()}});
}

void Shared::server_back() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(away_, false)) write({{"level", "info"}, {"at", "work.server_back"}});
}

// One call, so that a line is not torn by what the commands write.
void Shared::write(const LogFields& fields) const {
  const bool is_info = fields.front() == LogFields::value_type("level", "info");
  if (is_quiet() && is_info) return;
  const std::string line = log_line(format_, fields) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace perennial::tool::work
