#pragma once

#include <string>

#include "engine/types/status.h"

namespace perennial::perenniald {

// The files of this server as a client of others, all in PEM. Empty: there is no such file.
struct ClientFiles {
  std::string authorities;  // Whom it trusts.
  std::string certificate;  // What it shows, and the key of that. Both or none.
  std::string key;
};

// Whether they are complete, fit together and are valid now. InvalidArgument: the message names the
// file and says what to do.
Status check_client_files(const ClientFiles& files);

}  // namespace perennial::perenniald
