/* A library that fencepost loads into a redis-server or a ZooKeeper (LD_PRELOAD), so that a run can move the process's
   clocks, slow down its fsyncs, and know what a loss of power would destroy. It is controlled by the file
   $FENCEPOST_SHIM, which has fields of eight bytes in the machine's byte order; shim.go is the other side. While
   version is 0, the process sees the machine's clocks. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile struct {
  long long version; /* odd while the five fields below are being written */
  long long base;    /* a time on the machine's monotonic clock, in ns */
  long long mono;    /* the process's monotonic clock at that time */
  long long wall;    /* the process's wall clock at that time, since 1970 */
  long long ppm;     /* by how many millionths both run fast since then */
  long long slow;    /* ns added to every fsync */
  long long inode;   /* of the append-only file that was synced last */
  long long synced;  /* how many bytes of that file are on disk */
} *shared;

__attribute__((constructor)) static void attach(void) {
  const char *path = getenv("FENCEPOST_SHIM");
  int fd = path ? open(path, O_RDWR) : -1;
  if (fd < 0) abort();
  void *page = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) abort();
  close(fd);
  shared = page;
}

static long long machine(clockid_t id) {
  struct timespec t;
  syscall(SYS_clock_gettime, id, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* show returns what a clock shows. A jump moves the offset of the wall clock, so both are read at one version. */
static long long show(int wall) {
  long long version, at;
  do {
    while ((version = __atomic_load_n(&shared->version, __ATOMIC_ACQUIRE)) & 1) {}
    if (version == 0) return machine(wall ? CLOCK_REALTIME : CLOCK_MONOTONIC);
    long long past = machine(CLOCK_MONOTONIC) - shared->base;
    at = (wall ? shared->wall : shared->mono) + past + (long long)((__int128)past * shared->ppm / 1000000);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
  } while (version != __atomic_load_n(&shared->version, __ATOMIC_ACQUIRE));
  return at;
}

int clock_gettime(clockid_t id, struct timespec *t) {
  int wall = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
  int mono = id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE || id == CLOCK_MONOTONIC_RAW || id == CLOCK_BOOTTIME;
  if (!shared || !wall && !mono) return syscall(SYS_clock_gettime, id, t);
  long long ns = show(wall);
  *t = (struct timespec){ns / 1000000000, ns % 1000000000};
  return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
  (void)zone;
  struct timespec s;
  clock_gettime(CLOCK_REALTIME, &s);
  *t = (struct timeval){s.tv_sec, s.tv_nsec / 1000};
  return 0;
}

time_t time(time_t *at) {
  struct timespec s;
  clock_gettime(CLOCK_REALTIME, &s);
  return at ? *at = s.tv_sec : s.tv_sec;
}

/* isLog reports whether a file is the append-only file that grows, and not its base or its manifest. */
static int isLog(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  if (n < 4) return 0;
  path[n] = 0;
  return strcmp(path + n - 4, ".aof") == 0 && !strstr(path, ".base.") && !strstr(path, "/temp-");
}

/* sync_and_tell has the kernel sync a file. What the file contained before the call is on disk after it. */
static int sync_and_tell(long call, int fd) {
  struct stat s;
  int log = shared && isLog(fd) && fstat(fd, &s) == 0;
  int result = syscall(call, fd);
  if (log && shared->slow > 0) {
    struct timespec t = {shared->slow / 1000000000, shared->slow % 1000000000};
    while (syscall(SYS_nanosleep, &t, &t) != 0) {}
  }
  if (log && result == 0) {
    shared->inode = s.st_ino;
    shared->synced = s.st_size;
  }
  return result;
}

int fsync(int fd) { return sync_and_tell(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_and_tell(SYS_fdatasync, fd); }
