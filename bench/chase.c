/* A memory-bound program: follows a random cycle of pointers through many times the size of the last-level cache.
 * chase MEBIBYTES STEPS */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: chase MEBIBYTES STEPS\n");
        return 2;
    }
    size_t count = strtoull(argv[1], NULL, 10) * (1 << 20) / sizeof(uint32_t);
    unsigned long long steps = strtoull(argv[2], NULL, 10);
    uint32_t *next = malloc(count * sizeof *next);
    if (!next || count < 2) {
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        next[i] = (uint32_t)i;
    }
    /* Sattolo 1986: one cycle through all elements; the generator is xorshift64 (Marsaglia 2003). */
    uint64_t state = 88172645463325252ULL;
    for (size_t i = count - 1; i > 0; i--) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        size_t j = state % i;
        uint32_t kept = next[i];
        next[i] = next[j], next[j] = kept;
    }
    uint32_t at = 0;
    while (steps--) {
        at = next[at];
    }
    return at == UINT32_MAX;
}
