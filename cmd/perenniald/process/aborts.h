#pragma once

#include <functional>

// What would end the process by SIGABRT and without a word in the log: a thread that cannot be made
// throws where nobody catches, and RocksDB asserts that some system calls succeed.
namespace perennial::perenniald {

// From here on a thread that cannot be made ends the process with exit_system, and a system call
// that RocksDB asserts with exit_io. Anything else still aborts, after a line that says why.
void handle_aborts();

// Runs `step`, which may abort because a library cannot make a thread. That, too, ends the process
// with exit_system then. `what`: what the threads are for. One such call at a time.
void make_threads(const char* what, const std::function<void()>& step);

}  // namespace perennial::perenniald
