#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cmd/perenniald/tls/openssl.h"
#include "engine/types/status.h"

// Reads the files of a listener. Each error names the file and says what to do.
namespace perennial::perenniald {

// InvalidArgument: `what` is wrong with the file.
Status bad_file(const std::string& path, std::string_view what);

// At least one, in the order of the file. A file that ends inside of one is refused: somebody may
// be writing it.
Result<std::vector<X509Ptr>> read_certificates(const std::string& path);
Result<std::vector<CrlPtr>> read_revocation_lists(const std::string& path);
// InvalidArgument: besides what is wrong with its content, others than its owner may read it, or it
// has a password.
Result<KeyPtr> read_key(const std::string& path);

}  // namespace perennial::perenniald
