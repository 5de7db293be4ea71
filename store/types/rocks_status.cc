#include "store/types/rocks_status.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <rocksdb/status.h>

namespace perennial::store {
namespace {

StatusCode code_of(const rocksdb::Status& status) {
  if (is_full(status)) return StatusCode::NoSpace;
  if (status.IsNotFound()) return StatusCode::NotFound;
  if (status.IsCorruption()) return StatusCode::Corruption;
  if (status.IsInvalidArgument()) return StatusCode::InvalidArgument;
  if (status.IsNotSupported()) return StatusCode::Unsupported;
  return StatusCode::Io;
}

}  // namespace

// RocksDB has a code for a full disk, but reports a full quota as an ordinary IO error. Only the
// text of the error identifies a full quota.
bool is_full(const rocksdb::Status& status) {
  if (status.ok()) return false;
  return status.IsNoSpace() || status.ToString().find(std::strerror(EDQUOT)) != std::string::npos;
}

Status from_rocksdb(const rocksdb::Status& status) {
  if (status.ok()) return {};
  return {code_of(status), status.ToString()};
}

}  // namespace perennial::store
