#include "store/etcd/tls_files.h"

#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace perennial::store::etcd {
namespace {

Status read_into(std::string& content, const std::string& path) {
  if (path.empty()) return {};
  std::ifstream file(path, std::ios::binary);
  std::ostringstream read;
  read << file.rdbuf();
  content = read.str();
  if (file && !content.empty()) return {};
  return {StatusCode::Io, fmt::format("{} is not readable or empty", path)};
}

}  // namespace

Result<TlsFiles> read_tls_files(const GrpcClientOptions& options) {
  if (options.certificate_file.empty() != options.key_file.empty())
    return Status(StatusCode::InvalidArgument, "a certificate for etcd and its key go together");
  TlsFiles files;
  if (Status s = read_into(files.ca, options.ca_file); !s.ok()) return s;
  if (Status s = read_into(files.certificate, options.certificate_file); !s.ok()) return s;
  if (Status s = read_into(files.key, options.key_file); !s.ok()) return s;
  return files;
}

// check_files() opens the files by their names, so they are read again after it: it must have
// checked the same contents.
Result<TlsFiles> read_tls_files(const GrpcClientOptions& options, const TlsFiles& used) {
  Result<TlsFiles> files = read_tls_files(options);
  if (!files.ok() || *files == used || !options.check_files) return files;
  if (Status checked = options.check_files(); !checked.ok()) return checked;
  const Result<TlsFiles> again = read_tls_files(options);
  if (again.ok() && *again == *files) return files;
  return Status(StatusCode::InvalidArgument, "the files for etcd change at this moment");
}

}  // namespace perennial::store::etcd
