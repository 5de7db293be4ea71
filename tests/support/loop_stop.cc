// A library for LD_PRELOAD. While the file that LOOP_STOP_IF names exists, whoever accepts a client
// stands still for LOOP_STOP_MS, as the server's loop does in a turn that is too long.
// THREAD_STOP_IF does the same to whoever reads a socket by recv(), which is a thread that moves
// bytes, where there are such and they use no io_uring.

#include <cstdlib>

#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

void stop_if(const char* condition_variable) {
  const char* const condition = ::getenv(condition_variable);
  const char* const time = ::getenv("LOOP_STOP_MS");
  if (condition == nullptr || time == nullptr || ::access(condition, F_OK) != 0) return;
  ::unlink(condition);
  ::usleep(static_cast<useconds_t>(std::atoi(time)) * 1000);
}

}  // namespace

extern "C" ssize_t recv(int socket, void* buffer, size_t bytes, int flags) {
  stop_if("THREAD_STOP_IF");
  using Receive = ssize_t (*)(int, void*, size_t, int);
  return reinterpret_cast<Receive>(::dlsym(RTLD_NEXT, "recv"))(socket, buffer, bytes, flags);
}

extern "C" int accept4(int socket, sockaddr* address, socklen_t* length, int flags) {
  stop_if("LOOP_STOP_IF");
  using Accept = int (*)(int, sockaddr*, socklen_t*, int);
  return reinterpret_cast<Accept>(::dlsym(RTLD_NEXT, "accept4"))(socket, address, length, flags);
}
