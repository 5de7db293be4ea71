// The server's memory comes from jemalloc (CMakeLists.txt), because freed memory must go back to
// the system. After 9,000 slow readers had left, glibc kept 1.2 GiB, which was free but lay below
// memory in use, and its malloc_trim() stops every thread that allocates for 0.7 s. jemalloc gives
// pages back that were unused for ten seconds, little by little, and with this option on a thread
// of its own.
//
// jemalloc reads this before main(): jemalloc(3), TUNING. MALLOC_CONF in the environment overrides
// it.
extern "C" const char* malloc_conf;
const char* malloc_conf = "background_thread:true";
