#pragma once

#include <string>

namespace perennial::perenniald {

// Reports the state of the server to the service manager, if there is one: "READY=1", "STATUS=...".
void notify_manager(const std::string& state);
// Whether there is one.
bool has_manager();
// Whether what is written to the descriptor goes to the journal of systemd, which knows the time of
// each line (JOURNAL_STREAM of systemd.exec).
bool is_journal(int fd);

}  // namespace perennial::perenniald
