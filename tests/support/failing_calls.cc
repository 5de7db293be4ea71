// A library for LD_PRELOAD. The calls that FAILING_CALLS names, with commas, fail: sync_file_range,
// fdatasync and fstatfs with EIO, and pthread_create with EAGAIN; with FAILING_IF only while the
// file of that name exists.

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

struct statfs;
struct statfs64;

namespace {

bool fails(const char* name) {
  const char* const names = ::getenv("FAILING_CALLS");
  const char* const condition = ::getenv("FAILING_IF");
  if (names == nullptr || std::strstr(names, name) == nullptr) return false;
  return condition == nullptr || ::access(condition, F_OK) == 0;
}

template <typename Call>
Call next(const char* name) {
  return reinterpret_cast<Call>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

// Declared here, because the headers give some of them other names or qualifiers.
extern "C" int sync_file_range(int file, off64_t offset, off64_t bytes, unsigned flags) {
  if (fails("sync_file_range")) return errno = EIO, -1;
  return next<int (*)(int, off64_t, off64_t, unsigned)>("sync_file_range")(file, offset, bytes,
                                                                           flags);
}

extern "C" int fdatasync(int file) {
  if (fails("fdatasync")) return errno = EIO, -1;
  return next<int (*)(int)>("fdatasync")(file);
}

extern "C" int fstatfs(int file, struct statfs* out) {
  if (fails("fstatfs")) return errno = EIO, -1;
  return next<int (*)(int, struct statfs*)>("fstatfs")(file, out);
}

extern "C" int fstatfs64(int file, struct statfs64* out) {
  if (fails("fstatfs")) return errno = EIO, -1;
  return next<int (*)(int, struct statfs64*)>("fstatfs64")(file, out);
}

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) {
  if (fails("pthread_create")) return EAGAIN;
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  return next<Create>("pthread_create")(thread, attributes, run, argument);
}
