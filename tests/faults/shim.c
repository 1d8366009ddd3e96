/* Faults for tests, loaded with LD_PRELOAD.
 *
 * Counts the calls of one process that change files below one folder. At a chosen call it kills the process or lets
 * the call fail; it can also record every call, so that a test can replay what a disk would hold after a power cut.
 * A test arms it with fault_arm() after fork(); until then every call passes through. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { COUNT, KILL, FAIL_ONCE, FULL, SHORT, READ_ONLY, UNREADABLE };
enum { CREATE = 1, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, LINK, MAKE_FOLDER, REMOVE_FOLDER, MARK, FAILED };

static char root[PATH_MAX];
static size_t root_length;
static int fault = COUNT;
static long fault_at = -1;
static long calls;
static long reads;
static int log_file = -1;

struct header {
    uint32_t kind, path_length, other_length, data_length;
    uint64_t inode;
    int64_t offset;
};

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

void fault_arm(const char *folder, int kind, long at, int record_to) {
    snprintf(root, sizeof root, "%s", folder);
    root_length = strlen(root);
    fault = kind;
    fault_at = at;
    calls = 0;
    reads = 0;
    log_file = record_to;
}

void fault_disarm(void) { root_length = 0; }

long fault_calls(void) { return calls; }

static int is_inside(const char *path) {
    return root_length && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

/* The full path of a file that a call names by folder and path. */
static int path_at(int folder, const char *path, char *out) {
    char base[PATH_MAX];
    if (!path) return -1;
    if (path[0] == '/') return snprintf(out, PATH_MAX, "%s", path);
    if (folder == AT_FDCWD) {
        if (!getcwd(base, sizeof base)) return -1;
    } else {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t length = readlink(link, base, sizeof base - 1);
        if (length < 0) return -1;
        base[length] = 0;
    }
    return snprintf(out, PATH_MAX, "%s/%s", base, path);
}

static int watched_at(int folder, const char *path, char *out) {
    return root_length && path_at(folder, path, out) > 0 && is_inside(out);
}

static int watched_file(int file, char *out) {
    char link[64];
    if (!root_length) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, out, PATH_MAX - 1);
    if (length < 0) return 0;
    out[length] = 0;
    /* The index of the write-ahead log is rebuilt after a crash, and processes write it through memory. */
    return is_inside(out) && !strstr(out, "-shm");
}

static uint64_t inode_of(const char *path) {
    struct stat found;
    return lstat(path, &found) ? 0 : found.st_ino;
}

static void emit(const void *data, size_t length) {
    const char *next = data;
    while (length) {
        ssize_t wrote = syscall(SYS_write, log_file, next, length);
        if (wrote <= 0) return;
        next += wrote;
        length -= wrote;
    }
}

static void record(uint32_t kind, uint64_t inode, int64_t offset, const char *path, const char *other,
                   const void *data, size_t length) {
    if (log_file < 0) return;
    struct header head = {kind, strlen(path), other ? strlen(other) : 0, length, inode, offset};
    emit(&head, sizeof head);
    emit(path, head.path_length);
    if (other) emit(other, head.other_length);
    if (data) emit(data, length);
}

void fault_mark(long number) { record(MARK, 0, number, "", NULL, NULL, 0); }

/* Count one call; return the error that it must fail with, or 0. */
static int next_call(int grows) {
    long number = __sync_fetch_and_add(&calls, 1);
    if (fault == KILL && number == fault_at) {
        kill(getpid(), SIGKILL);
        pause();
    }
    if (fault == FAIL_ONCE && number == fault_at) return EIO;
    if (fault == FULL && grows && number >= fault_at) return ENOSPC;
    if (fault == READ_ONLY && number >= fault_at) return EROFS;
    return 0;
}

#define FAIL_IF_ASKED(grows) \
    do { \
        int failure = next_call(grows); \
        if (failure) { errno = failure; return -1; } \
    } while (0)

static int open_watched(int folder, const char *path, int flags, mode_t mode) {
    REAL(openat);
    char full[PATH_MAX];
    int writes = (flags & O_ACCMODE) != O_RDONLY;
    if (!writes || !watched_at(folder, path, full) || strstr(full, "-shm")) return real(folder, path, flags, mode);
    struct stat before;
    int exists = !lstat(full, &before);
    int creates = (flags & O_CREAT) && !exists;
    int truncates = (flags & O_TRUNC) && exists && before.st_size;
    if (creates || truncates) FAIL_IF_ASKED(creates);
    else if (fault == READ_ONLY && calls > fault_at) { errno = EROFS; return -1; }
    int file = real(folder, path, flags, mode);
    if (creates) record(file < 0 ? FAILED : CREATE, inode_of(full), 0, full, NULL, NULL, 0);
    if (truncates) record(file < 0 ? FAILED : TRUNCATE, before.st_ino, 0, full, NULL, NULL, 0);
    return file;
}

#define MODE_ARGUMENT \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

int open(const char *path, int flags, ...) { MODE_ARGUMENT return open_watched(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE_ARGUMENT return open_watched(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE_ARGUMENT return open_watched(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE_ARGUMENT return open_watched(at, path, flags, mode); }

static uint64_t inode_of_file(int file) {
    struct stat found;
    return fstat(file, &found) ? 0 : found.st_ino;
}

static size_t shortened(size_t length) { return fault == SHORT && calls - 1 == fault_at && length > 1 ? length / 2 : length; }

ssize_t write(int file, const void *data, size_t length) {
    REAL(write);
    char path[PATH_MAX];
    if (!watched_file(file, path)) return real(file, data, length);
    FAIL_IF_ASKED(1);
    length = shortened(length);
    off_t offset = fcntl(file, F_GETFL) & O_APPEND ? lseek(file, 0, SEEK_END) : lseek(file, 0, SEEK_CUR);
    ssize_t wrote = real(file, data, length);
    record(wrote < 0 ? FAILED : WRITE, inode_of_file(file), offset, path, NULL, data, wrote < 0 ? 0 : wrote);
    return wrote;
}

static ssize_t write_at(int file, const void *data, size_t length, off_t offset) {
    REAL(pwrite64);
    char path[PATH_MAX];
    if (!watched_file(file, path)) return real(file, data, length, offset);
    FAIL_IF_ASKED(1);
    ssize_t wrote = real(file, data, shortened(length), offset);
    record(wrote < 0 ? FAILED : WRITE, inode_of_file(file), offset, path, NULL, data, wrote < 0 ? 0 : wrote);
    return wrote;
}

ssize_t pwrite(int file, const void *data, size_t length, off_t offset) { return write_at(file, data, length, offset); }
ssize_t pwrite64(int file, const void *data, size_t length, off_t offset) { return write_at(file, data, length, offset); }

/* From a chosen read on, the disk cannot be read any more. */
static int is_unreadable(int file) {
    char path[PATH_MAX];
    if (fault != UNREADABLE || !watched_file(file, path)) return 0;
    if (__sync_fetch_and_add(&reads, 1) < fault_at) return 0;
    errno = EIO;
    return 1;
}

ssize_t read(int file, void *data, size_t length) {
    REAL(read);
    return is_unreadable(file) ? -1 : real(file, data, length);
}

static ssize_t read_at(int file, void *data, size_t length, off_t offset) {
    REAL(pread64);
    return is_unreadable(file) ? -1 : real(file, data, length, offset);
}

ssize_t pread(int file, void *data, size_t length, off_t offset) { return read_at(file, data, length, offset); }
ssize_t pread64(int file, void *data, size_t length, off_t offset) { return read_at(file, data, length, offset); }

static int truncate_file(int file, off_t length) {
    REAL(ftruncate64);
    char path[PATH_MAX];
    if (!watched_file(file, path)) return real(file, length);
    FAIL_IF_ASKED(0);
    int result = real(file, length);
    record(result ? FAILED : TRUNCATE, inode_of_file(file), length, path, NULL, NULL, 0);
    return result;
}

int ftruncate(int file, off_t length) { return truncate_file(file, length); }
int ftruncate64(int file, off_t length) { return truncate_file(file, length); }

static int sync_file(int file, int (*real)(int)) {
    char path[PATH_MAX];
    if (!watched_file(file, path)) return real(file);
    FAIL_IF_ASKED(0);
    /* The simulator decides what is on disk, so a real sync would only cost time. */
    record(SYNC, inode_of_file(file), 0, path, NULL, NULL, 0);
    return 0;
}

int fsync(int file) {
    REAL(fsync);
    return sync_file(file, real);
}
int fdatasync(int file) {
    REAL(fdatasync);
    return sync_file(file, real);
}

/* Syncs everything; the record names no file. */
int syncfs(int file) {
    REAL(syncfs);
    char path[PATH_MAX];
    if (!watched_file(file, path)) return real(file);
    FAIL_IF_ASKED(0);
    record(SYNC, 0, 0, "", NULL, NULL, 0);
    return 0;
}

static int rename_watched(int from, const char *old, int to, const char *new, unsigned flags) {
    REAL(renameat2);
    char source[PATH_MAX], target[PATH_MAX];
    if (!watched_at(to, new, target) || path_at(from, old, source) < 0) return real(from, old, to, new, flags);
    FAIL_IF_ASKED(0);
    int result = real(from, old, to, new, flags);
    record(result ? FAILED : RENAME, inode_of(target), 0, source, target, NULL, 0);
    return result;
}

int rename(const char *old, const char *new) { return rename_watched(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int from, const char *old, int to, const char *new) { return rename_watched(from, old, to, new, 0); }
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    return rename_watched(from, old, to, new, flags);
}

static int unlink_watched(int folder, const char *path, int flags) {
    REAL(unlinkat);
    char full[PATH_MAX];
    if (!watched_at(folder, path, full) || strstr(full, "-shm")) return real(folder, path, flags);
    uint64_t inode = inode_of(full);
    if (!inode) return real(folder, path, flags);
    FAIL_IF_ASKED(0);
    int result = real(folder, path, flags);
    record(result ? FAILED : flags & AT_REMOVEDIR ? REMOVE_FOLDER : UNLINK, inode, 0, full, NULL, NULL, 0);
    return result;
}

int unlink(const char *path) { return unlink_watched(AT_FDCWD, path, 0); }
int unlinkat(int folder, const char *path, int flags) { return unlink_watched(folder, path, flags); }
int rmdir(const char *path) { return unlink_watched(AT_FDCWD, path, AT_REMOVEDIR); }

static int link_watched(int from, const char *old, int to, const char *new, int flags) {
    REAL(linkat);
    char source[PATH_MAX], target[PATH_MAX];
    if (!watched_at(to, new, target) || path_at(from, old, source) < 0) return real(from, old, to, new, flags);
    FAIL_IF_ASKED(0);
    int result = real(from, old, to, new, flags);
    record(result ? FAILED : LINK, inode_of(target), 0, source, target, NULL, 0);
    return result;
}

int link(const char *old, const char *new) { return link_watched(AT_FDCWD, old, AT_FDCWD, new, 0); }
int linkat(int from, const char *old, int to, const char *new, int flags) { return link_watched(from, old, to, new, flags); }

static int make_folder(int folder, const char *path, mode_t mode) {
    REAL(mkdirat);
    char full[PATH_MAX];
    if (!watched_at(folder, path, full) || inode_of(full)) return real(folder, path, mode);
    FAIL_IF_ASKED(1);
    int result = real(folder, path, mode);
    record(result ? FAILED : MAKE_FOLDER, inode_of(full), 0, full, NULL, NULL, 0);
    return result;
}

int mkdir(const char *path, mode_t mode) { return make_folder(AT_FDCWD, path, mode); }
int mkdirat(int folder, const char *path, mode_t mode) { return make_folder(folder, path, mode); }

/* Python copies files with these where it can; refused, it falls back to write(). */
ssize_t sendfile(int to, int from, off_t *offset, size_t count) { (void)to, (void)from, (void)offset, (void)count; errno = ENOTSOCK; return -1; }
ssize_t sendfile64(int to, int from, off_t *offset, size_t count) { return sendfile(to, from, offset, count); }
