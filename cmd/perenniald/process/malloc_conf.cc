// The server's memory comes from jemalloc (CMakeLists.txt), because it must go back: after 9,000
// slow readers had gone glibc kept 1.2 GiB, free but below something that was not, and its
// malloc_trim() holds up every thread that allocates for 0.7 s. jemalloc gives pages back that
// nobody has used for ten seconds, little by little, and with this option on a thread of its own.
//
// It reads this before main(): jemalloc(3), TUNING. MALLOC_CONF in the environment goes before.
extern "C" const char* malloc_conf;
const char* malloc_conf = "background_thread:true";
