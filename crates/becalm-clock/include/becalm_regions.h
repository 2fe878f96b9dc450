/* becalm_regions.h: writes timed regions of a program to a file that `becalm import` reads. For C99 and C++ with POSIX; it
 * needs only becalm_clock.h in the same directory.
 *
 *     enum { PARSE, HASH };
 *     static const char *const names[] = {"parse", "hash"};
 *     static becalm_record memory[100000];                    // one ring per thread
 *     becalm_ring_init(&ring, memory, 100000, 0);
 *     ...
 *     becalm_stamp from = becalm_begin();
 *     parse();
 *     becalm_ring_push(&ring, PARSE, from, becalm_end());     // no system call, no allocation
 *     ...
 *     becalm_regions file;                                    // outside of timed code, usually at the end
 *     if (becalm_regions_open(&file, "parse.regions", &clock, names, 2) == 0) {
 *         becalm_regions_flush(&file, &ring, 0);
 *         becalm_regions_close(&file);
 *     }
 *
 * Each function returns 0 or an errno (EEXIST: the file exists and is not one of regions; EINVAL: the names are too
 * long). Errors persist: later calls write nothing and return the same error. Only the user can read the file (0600). In
 * the path %p stands for the process id, %r for the rank in a parallel program, %h for the host name and %% for a per cent
 * sign. An existing file of regions is replaced, unless a process that runs at the same time has written it: then this file
 * gets the process id in its name (parse.4711.regions), and file.path has the path. Records that are not flushed when the
 * program ends are lost. Only one thread at a time may use a becalm_regions. docs/reference/regions.md describes every
 * byte.
 *
 * Licence: Apache-2.0 or MIT, at your choice.
 */
#ifndef BECALM_REGIONS_H
#define BECALM_REGIONS_H

#include "becalm_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    BECALM_RECORD_BYTES = 24,
    BECALM_HEAD_BYTES = 48,
    BECALM_BLOCK_RECORDS = 512,
    BECALM_LONGEST_HEADER = 1 << 20,
    BECALM_LONGEST_PATH = 1024,
    BECALM_PLACES = 100 /* paths that are tried */
};

/* The flags of a record: see docs/reference/regions.md. */
enum { BECALM_MIGRATED = 1, BECALM_OUT_OF_STEP = 2, BECALM_SHORTER_THAN_COST = 4 };

/* A file that is being written. */
typedef struct {
    int descriptor;
    int error;
    const becalm_clock *clock;
    unsigned char *header; /* kept for the end of the file; freed by becalm_regions_close */
    uint32_t header_bytes;
    uint32_t blocks;
    uint64_t records;
    char path[BECALM_LONGEST_PATH]; /* the path of the file */
} becalm_regions;

/* ---- little-endian bytes on any machine ----------------------------------------------------------------------------- */

static inline unsigned char *becalm_put_(unsigned char *to, uint64_t value, int bytes) {
    int index;
    for (index = 0; index < bytes; index++) to[index] = (unsigned char)(value >> (8 * index) & 0xff);
    return to + bytes;
}

static inline unsigned char *becalm_put_double_(unsigned char *to, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return becalm_put_(to, bits, 8);
}

static inline unsigned char *becalm_put_text_(unsigned char *to, const char *text) {
    size_t length = strlen(text);
    to = becalm_put_(to, length, 2);
    memcpy(to, text, length);
    return to + length;
}

/* Compute CRC-32 as in zlib, four bits at a time. */
static inline uint32_t becalm_crc_(const unsigned char *bytes, size_t many) {
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    uint32_t crc = 0xffffffffu;
    size_t index;
    for (index = 0; index < many; index++) {
        crc ^= bytes[index];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

static inline int becalm_write_(becalm_regions *file, const unsigned char *bytes, size_t many) {
    while (file->error == 0 && many > 0) {
        ssize_t done = write(file->descriptor, bytes, many);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) {
            file->error = done < 0 ? errno : EIO;
            break;
        }
        bytes += done;
        many -= (size_t)done;
    }
    return file->error;
}

/* ---- identification of the machine ---------------------------------------------------------------------------------- */

/* Copy the first line of a file, or with a key the text after the colon of its line; "" if there is none. */
static inline void becalm_line_(const char *path, const char *key, char *to, size_t size) {
    char line[256];
    FILE *file = fopen(path, "re");
    to[0] = 0;
    while (file && fgets(line, sizeof line, file)) {
        char *from = line, *end;
        if (key && strncmp(line, key, strlen(key)) != 0) continue;
        if (key && (from = strchr(line, ':')) == NULL) continue;
        from += key != NULL;
        while (*from == ' ' || *from == '\t') from++;
        end = from + strlen(from);
        while (end > from && (end[-1] == '\n' || end[-1] == ' ')) *--end = 0;
        snprintf(to, size, "%s", from);
        break;
    }
    if (file) fclose(file);
}

/* Compute the FNV-1a hash of the machine id, which is itself confidential (machine-id(5)). */
static inline void becalm_machine_(char *to, size_t size) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const char *each;
    char id[256];
    becalm_line_("/etc/machine-id", NULL, id, sizeof id);
    for (each = id; *each; each++) hash = (hash ^ (unsigned char)*each) * UINT64_C(0x100000001b3);
    to[0] = 0;
    if (id[0]) snprintf(to, size, "%08lx%08lx", (unsigned long)(hash >> 32), (unsigned long)(hash & 0xffffffffu));
}

static inline void becalm_model_(char *to, size_t size) {
    char implementer[64], part[64];
    becalm_line_("/proc/cpuinfo", "model name", to, size);
    if (to[0]) return;
    becalm_line_("/proc/cpuinfo", "CPU implementer", implementer, sizeof implementer);
    becalm_line_("/proc/cpuinfo", "CPU part", part, sizeof part);
    if (implementer[0] && part[0]) snprintf(to, size, "implementer %s part %s", implementer, part);
}

/* Return the counter, and Unix time in ns, at one moment. */
static inline uint64_t becalm_moment_(uint64_t *unix_ns) {
    struct timespec now;
    uint64_t before = becalm_begin().ticks;
    clock_gettime(CLOCK_REALTIME, &now);
    *unix_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return before + (becalm_end().ticks - before) / 2;
}

/* ---- the parts of a file --------------------------------------------------------------------------------------------- */

/* Fill the 48 bytes before the records of a block, or those of the closing. */
static inline void becalm_head_(unsigned char *to, const char *mark, uint32_t many, const uint64_t *values,
                                uint32_t policy, uint32_t sum) {
    memcpy(to, mark, 4);
    becalm_put_(to + 4, many, 4);
    becalm_put_(to + 8, values[0], 8);
    becalm_put_(to + 16, values[1], 8);
    becalm_put_(to + 24, values[2], 8);
    becalm_put_(to + 32, policy, 4);
    becalm_put_(to + 36, sum, 4);
    becalm_put_(to + 40, 0, 4);
    becalm_put_(to + 44, becalm_crc_(to, 44), 4);
}

/* Convert a cost to thousandths of a tick, limited to 32 bits. */
static inline uint32_t becalm_thousandths_(double cost) {
    return cost <= 0 ? 0 : cost >= 4294967 ? 4294967000u : (uint32_t)(cost * 1e3 + 0.5);
}

static inline int becalm_header_(becalm_regions *file, const char *const *names, uint32_t many) {
    const becalm_clock *clock = file->clock;
    char machine[24], boot[64], model[256];
    const char *texts[4];
    uint64_t ticks, unix_ns;
    size_t bytes = 88 + 4;
    unsigned char *to;
    uint32_t index;
    becalm_machine_(machine, sizeof machine);
    becalm_line_("/proc/sys/kernel/random/boot_id", NULL, boot, sizeof boot);
    becalm_model_(model, sizeof model);
    texts[0] = machine, texts[1] = boot, texts[2] = model, texts[3] = clock->source;
    for (index = 0; index < 4 + many; index++) {
        size_t length = strlen(index < 4 ? texts[index] : names[index - 4]);
        bytes += 2 + length;
        if (length > 0xffff || bytes > BECALM_LONGEST_HEADER) return EINVAL;
    }
    if (many > 0xffff) return EINVAL;
    to = file->header = (unsigned char *)malloc(bytes);
    if (to == NULL) return ENOMEM;
    file->header_bytes = (uint32_t)bytes;
    ticks = becalm_moment_(&unix_ns);
    memcpy(to, "\x89" "BRG\r\n\x1a\n", 8);
    to = becalm_put_(to + 8, 1, 2);
    to = becalm_put_(to, BECALM_RECORD_BYTES, 2);
    to = becalm_put_(to, bytes, 4);
    to = becalm_put_double_(to, clock->hz);
    to = becalm_put_double_(to, clock->ppm);
    to = becalm_put_double_(to, clock->quantum);
    to = becalm_put_(to, (uint64_t)clock->smallest_cost, 8);
    to = becalm_put_(to, (uint64_t)clock->median_cost, 8);
    to = becalm_put_(to, ticks, 8);
    to = becalm_put_(to, unix_ns, 8);
    to = becalm_put_(to, clock->flags, 4);
    to = becalm_put_(to, (uint64_t)getpid(), 4);
    to = becalm_put_(to, many, 4);
    to = becalm_put_(to, becalm_thousandths_(clock->mean_cost), 4);
    for (index = 0; index < 4 + many; index++) to = becalm_put_text_(to, index < 4 ? texts[index] : names[index - 4]);
    becalm_put_(to, becalm_crc_(file->header, bytes - 4), 4);
    return 0;
}

/* ---- the path of a file ---------------------------------------------------------------------------------------------- */

/* Return the rank of this process from its launcher: Open MPI, PMIx, MPICH and Intel, MVAPICH, PALS, Slurm. */
static inline const char *becalm_rank_(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",   "PMI_RANK",
                                        "MV2_COMM_WORLD_RANK",  "PALS_RANKID", "SLURM_PROCID"};
    size_t index;
    for (index = 0; index < sizeof names / sizeof *names; index++) {
        const char *value = getenv(names[index]);
        if (value && *value && strspn(value, "0123456789") == strlen(value)) return value;
    }
    return "0";
}

/* Expand the per cent signs of a path. Return 0 or ENAMETOOLONG. */
static inline int becalm_expanded_(char *to, const char *from) {
    char text[256];
    size_t used = 0, length, index;
    while (*from) {
        int known = *from == '%' && from[1] != 0 && strchr("prh%", from[1]) != NULL;
        if (!known) snprintf(text, sizeof text, "%c", *from);
        else if (from[1] == 'p') snprintf(text, sizeof text, "%ld", (long)getpid());
        else if (from[1] == 'r') snprintf(text, sizeof text, "%s", becalm_rank_());
        else if (from[1] == 'h') becalm_line_("/proc/sys/kernel/hostname", NULL, text, sizeof text);
        else snprintf(text, sizeof text, "%%");
        if (known) for (index = 0; text[index]; index++) if (text[index] == '/') text[index] = '-';
        length = strlen(text);
        if (used + length + 1 > BECALM_LONGEST_PATH) return ENAMETOOLONG;
        memcpy(to + used, text, length);
        used += length;
        from += known ? 2 : 1;
    }
    to[used] = 0;
    return 0;
}

/* Return the path of a turn: parse.regions, parse.4711.regions, parse.4711-2.regions. */
static inline int becalm_turn_path_(char *to, const char *path, int turn) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    int stem = (int)strlen(path), written;
    if (dot && dot > path && dot != slash + 1 && (!slash || dot > slash)) stem = (int)(dot - path);
    if (turn == 0) written = snprintf(to, BECALM_LONGEST_PATH, "%s", path);
    else if (turn == 1)
        written = snprintf(to, BECALM_LONGEST_PATH, "%.*s.%ld%s", stem, path, (long)getpid(), path + stem);
    else
        written = snprintf(to, BECALM_LONGEST_PATH, "%.*s.%ld-%d%s", stem, path, (long)getpid(), turn, path + stem);
    return written < BECALM_LONGEST_PATH ? 0 : ENAMETOOLONG;
}

/* Lock a file while it is open. Return 0 if another process holds the lock; a file system without locks counts as locked. */
static inline int becalm_lock_(int descriptor) {
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/* Return whether another process has written a file of regions since this one opened its clock. */
static inline int becalm_recent_(const struct stat *found, const unsigned char *begins, int whole,
                                 const becalm_clock *clock) {
    struct timespec now;
    uint64_t since, at, process = 0;
    int index;
    clock_gettime(CLOCK_REALTIME, &now);
    since = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - (becalm_system_ns() - clock->opened_ns);
    at = (uint64_t)found->st_mtim.tv_sec * 1000000000u + (uint64_t)found->st_mtim.tv_nsec;
    for (index = 0; whole && index < 4; index++) process |= (uint64_t)begins[76 + index] << (8 * index);
    return at >= since && process != (uint64_t)getpid();
}

/* Remove a file of regions, or an empty one, that no other process writes. Return 0, EBUSY if a process writes it, or EEXIST
 * if it is not a file of regions. */
static inline int becalm_make_way_(const char *path, const becalm_clock *clock) {
    struct stat found;
    unsigned char begins[80];
    int own = 0, whole = 0, busy = 0, descriptor = -1;
    if (lstat(path, &found) != 0) return errno == ENOENT ? 0 : errno;
    if (S_ISREG(found.st_mode)) {
        own = found.st_size == 0;
        if ((descriptor = open(path, O_RDONLY | O_CLOEXEC)) >= 0) {
            whole = read(descriptor, begins, sizeof begins) == (ssize_t)sizeof begins;
            own = own || (whole && memcmp(begins, "\x89" "BRG\r\n\x1a\n", 8) == 0);
            busy = own && (becalm_recent_(&found, begins, whole, clock) || !becalm_lock_(descriptor));
            close(descriptor);
        }
    }
    if (!own) return EEXIST;
    if (busy) return EBUSY;
    return unlink(path) == 0 || errno == ENOENT ? 0 : errno;
}

/* Create a locked file at its path or at an alternative one. */
static inline int becalm_create_(becalm_regions *file, const char *path) {
    char expanded[BECALM_LONGEST_PATH];
    int turn, error = becalm_expanded_(expanded, path);
    for (turn = 0; error == 0 && turn < BECALM_PLACES; turn++) {
        if ((error = becalm_turn_path_(file->path, expanded, turn)) != 0) return error;
        if ((error = becalm_make_way_(file->path, file->clock)) == 0) {
            file->descriptor = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
            if (file->descriptor >= 0) {
                becalm_lock_(file->descriptor);
                return 0;
            }
            /* Another process created it in between. */
            error = errno == EEXIST ? EBUSY : errno;
        }
        if (error == EBUSY) error = 0;
    }
    return error != 0 ? error : EBUSY;
}

/* ---- the functions for programs -------------------------------------------------------------------------------------- */

/* Create a file with the names of regions by the id of records. The clock must exist until the file is closed. */
static inline int becalm_regions_open(becalm_regions *file, const char *path, const becalm_clock *clock,
                                      const char *const *names, uint32_t many) {
    memset(file, 0, sizeof *file);
    file->descriptor = -1;
    file->clock = clock;
    file->error = becalm_header_(file, names, many);
    if (file->error == 0) file->error = becalm_create_(file, path);
    becalm_write_(file, file->header, file->header_bytes);
    if (file->error != 0) {
        free(file->header);
        file->header = NULL;
        if (file->descriptor >= 0) close(file->descriptor);
        file->descriptor = -1;
    }
    return file->error;
}

static inline void becalm_put_record_(unsigned char *to, const becalm_record *record, const becalm_clock *clock) {
    int64_t ticks = becalm_ticks(record->begin, record->end);
    int migrated = record->begin.processor != record->end.processor;
    unsigned flags = (migrated ? BECALM_MIGRATED : 0) | (ticks < 0 ? BECALM_OUT_OF_STEP : 0) |
                     (ticks >= 0 && ticks < clock->smallest_cost ? BECALM_SHORTER_THAN_COST : 0);
#if defined(__x86_64__)
    /* Linux sets TSC_AUX to the processor's number, with its node in the bits above. */
    uint64_t began = record->begin.processor & 0xfff, ended = record->end.processor & 0xfff;
#else
    uint64_t began = 0xffff, ended = 0xffff;
#endif
    to = becalm_put_(to, record->begin.ticks, 8);
    to = becalm_put_(to, (uint64_t)ticks, 8);
    to = becalm_put_(to, record->id < 0xffff ? record->id : 0xffff, 2);
    to = becalm_put_(to, began, 2);
    to = becalm_put_(to, ended, 2);
    becalm_put_(to, flags, 2);
}

/* Write the records of a ring with the caller's number for its thread, and empty the ring. Do not call it while timing. */
static inline int becalm_regions_flush(becalm_regions *file, becalm_ring *ring, uint64_t thread) {
    unsigned char bytes[BECALM_HEAD_BYTES + BECALM_BLOCK_RECORDS * BECALM_RECORD_BYTES];
    uint64_t kept = becalm_ring_kept(ring), dropped = becalm_ring_dropped(ring), next = 0;
    /* A ring without memory writes a block without records, for the number of dropped ones. */
    while (file->error == 0 && (next < kept || dropped > 0)) {
        uint32_t many = BECALM_BLOCK_RECORDS, index;
        uint64_t values[3];
        if (kept - next < many) many = (uint32_t)(kept - next);
        for (index = 0; index < many; index++)
            becalm_put_record_(bytes + BECALM_HEAD_BYTES + index * BECALM_RECORD_BYTES,
                               becalm_ring_at(ring, next + index), file->clock);
        values[0] = thread, values[1] = file->records, values[2] = dropped;
        becalm_head_(bytes, "RBLK", many, values, ring->drop_oldest ? 1 : 0,
                     becalm_crc_(bytes + BECALM_HEAD_BYTES, (size_t)many * BECALM_RECORD_BYTES));
        if (becalm_write_(file, bytes, BECALM_HEAD_BYTES + (size_t)many * BECALM_RECORD_BYTES) != 0) break;
        file->blocks++;
        file->records += many;
        next += many;
        dropped = 0;
    }
    if (file->error == 0) ring->next = ring->pushed = 0;
    return file->error;
}

/* Write the closing, and close the file. A file without closing is readable, and recognised as cut off. */
static inline int becalm_regions_close(becalm_regions *file) {
    unsigned char bytes[BECALM_HEAD_BYTES];
    uint64_t values[3];
    if (file->descriptor < 0) return file->error;
    values[0] = becalm_moment_(&values[1]);
    values[2] = file->records;
    becalm_head_(bytes, "REND", file->blocks, values, 0, 0);
    becalm_write_(file, bytes, sizeof bytes);
    becalm_write_(file, file->header, file->header_bytes);
    if (close(file->descriptor) != 0 && file->error == 0) file->error = errno;
    free(file->header);
    file->header = NULL;
    file->descriptor = -1;
    return file->error;
}

#ifdef __cplusplus
}
#endif
#endif
