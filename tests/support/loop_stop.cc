// A library for LD_PRELOAD. While the file that LOOP_STOP_IF names exists, whoever accepts a client
// stands still for LOOP_STOP_MS, as the server's loop does in a turn that is too long.

#include <cstdlib>

#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

extern "C" int accept4(int socket, sockaddr* address, socklen_t* length, int flags) {
  const char* const condition = ::getenv("LOOP_STOP_IF");
  const char* const time = ::getenv("LOOP_STOP_MS");
  if (condition != nullptr && time != nullptr && ::access(condition, F_OK) == 0) {
    ::unlink(condition);
    ::usleep(static_cast<useconds_t>(std::atoi(time)) * 1000);
  }
  using Accept = int (*)(int, sockaddr*, socklen_t*, int);
  return reinterpret_cast<Accept>(::dlsym(RTLD_NEXT, "accept4"))(socket, address, length, flags);
}
