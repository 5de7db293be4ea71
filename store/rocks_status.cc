#include "store/rocks_status.h"

#include <cstring>
#include <string>

#include <rocksdb/status.h>

namespace perennial::store {
namespace {

// RocksDB knows a full disk, but takes a full quota for any error: its text alone tells them apart.
bool is_full(const rocksdb::Status& status, const std::string& message) {
  return status.IsNoSpace() || message.find(std::strerror(EDQUOT)) != std::string::npos;
}

StatusCode code_of(const rocksdb::Status& status, const std::string& message) {
  if (is_full(status, message)) return StatusCode::NoSpace;
  if (status.IsNotFound()) return StatusCode::NotFound;
  if (status.IsCorruption()) return StatusCode::Corruption;
  if (status.IsInvalidArgument()) return StatusCode::InvalidArgument;
  if (status.IsNotSupported()) return StatusCode::Unsupported;
  return StatusCode::Io;
}

}  // namespace

Status from_rocksdb(const rocksdb::Status& status) {
  if (status.ok()) return {};
  std::string message = status.ToString();
  const StatusCode code = code_of(status, message);
  return {code, std::move(message)};
}

}  // namespace perennial::store
