/* What bench/disturbance.py does, for a guest, where Python takes a second to start: bursts of disturbance at random
 * moments until it is ended.
 *
 *   bursts DIRECTORY
 *
 * A burst lasts 0.1 to 0.8 s, the pause before it 0.2 s in the mean; the kernel's random numbers decide on both and on
 * the kind: a hog for each CPU, datagrams through the loopback interface from two senders, or a file that is written,
 * synced and read again while the kernel is told to forget its pages.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, CHUNKS = 48 };

static char chunk[CHUNK];

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec + at.tv_nsec / 1e9;
}

/* Uniform in (0, 1]. */
static double uniform(void) {
    uint32_t bits = 0;
    if (getrandom(&bits, sizeof bits, 0) != sizeof bits) {
        exit(1);
    }
    return (bits + 1.0) / 4294967296.0;
}

static void hog(double until) {
    static volatile uint64_t sink;
    while (now() < until) {
        for (int i = 0; i < 10000; i++) {
            sink = sink * 6364136223846793005u + 1;
        }
    }
}

static void storm(double until) {
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof place;
    int receiver = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), sender = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(receiver, (struct sockaddr *)&place, size) || getsockname(receiver, (struct sockaddr *)&place, &size)
        || connect(sender, (struct sockaddr *)&place, size)) {
        exit(1);
    }
    while (now() < until) {
        for (int i = 0; i < 64; i++) {
            (void)!send(sender, chunk, 1400, 0);
        }
        while (recv(receiver, chunk, 2048, 0) >= 0) {
        }
    }
}

static void churn(double until, const char *directory) {
    char path[4096];
    snprintf(path, sizeof path, "%s/churn-%d", directory, (int)getpid());
    int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0) {
        exit(1);
    }
    unlink(path);
    while (now() < until) {
        for (int i = 0; i < CHUNKS; i++) {
            (void)!pwrite(file, chunk, CHUNK, (off_t)i * CHUNK);
        }
        fdatasync(file);
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        for (int i = 0; i < CHUNKS; i++) {
            (void)!pread(file, chunk, CHUNK, (off_t)i * CHUNK);
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: bursts DIRECTORY\n");
        return 2;
    }
    int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    for (;;) {
        usleep((useconds_t)(-0.2 * log(uniform()) * 1e6));
        int kind = (int)(uniform() * 3) % 3;
        int processes = kind == 0 ? cpus : kind == 1 ? 2 : 1;
        double until = now() + 0.1 + 0.7 * uniform();
        for (int i = 0; i < processes; i++) {
            if (!fork()) {
                kind == 0 ? hog(until) : kind == 1 ? storm(until) : churn(until, argv[1]);
                _exit(0);
            }
        }
        while (wait(NULL) > 0) {
        }
    }
}
