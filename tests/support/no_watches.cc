// A library for LD_PRELOAD. While the file that NO_WATCHES_IF names exists, epoll accepts no more
// descriptors, as when the programs of the user have used up fs.epoll.max_user_watches.

#include <cerrno>
#include <cstdlib>

#include <dlfcn.h>
#include <sys/epoll.h>
#include <unistd.h>

extern "C" int epoll_ctl(int set, int operation, int file, epoll_event* event) noexcept {
  const char* const condition = ::getenv("NO_WATCHES_IF");
  if (operation == EPOLL_CTL_ADD && condition != nullptr && ::access(condition, F_OK) == 0) {
    errno = ENOSPC;
    return -1;
  }
  using Control = int (*)(int, int, int, epoll_event*);
  return reinterpret_cast<Control>(::dlsym(RTLD_NEXT, "epoll_ctl"))(set, operation, file, event);
}
