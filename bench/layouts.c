/* A program of four short loops, a long one and forty small functions, one object file for each: PART says which.
 *
 * How long the short loops take depends on where the linker puts them. MORE makes the long one take so many % longer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef MORE
#define MORE 0
#endif

#define BYTES 4096

int count(const uint8_t *data, uint8_t byte);
uint32_t sum(const uint8_t *data);
int find(const uint8_t *data, uint8_t byte);
int plain(const uint8_t *data);
uint32_t chain(uint32_t value);

#define NAMES(tens) NAME(tens##0) NAME(tens##1) NAME(tens##2) NAME(tens##3) NAME(tens##4) \
                    NAME(tens##5) NAME(tens##6) NAME(tens##7) NAME(tens##8) NAME(tens##9)
#define ALL NAMES(1) NAMES(2) NAMES(3) NAMES(4)
#define NAME(number) uint32_t small##number(uint32_t value);
ALL
#undef NAME

#define JOINED(number) small##number
#define SMALL(number) JOINED(number)

#if PART == 0
int main(int words, char **arguments) {
#define NAME(number) small##number,
    static uint32_t (*const table[])(uint32_t) = {ALL};
    static uint8_t data[BYTES];
    uint32_t value = 1;
    for (int index = 0; index < BYTES; index++)
        data[index] = (uint8_t)((index * 37 + 11) & 0x7f) | 1;
    for (int turns = words > 1 ? atoi(arguments[1]) : 1000; turns > 0; turns--) {
        value = chain(table[turns % 40](value));
        value += count(data, (uint8_t)turns) + sum(data) + find(data, 0) + plain(data);
    }
    printf("%u\n", value);
    return 0;
}
#elif PART == 1
int count(const uint8_t *data, uint8_t byte) {
    int result = 0;
    for (int index = 0; index < BYTES; index++)
        result += data[index] == byte;
    return result;
}
#elif PART == 2
uint32_t sum(const uint8_t *data) {
    uint32_t result = 0;
    for (int index = 0; index < BYTES; index++)
        result += data[index];
    return result;
}
#elif PART == 3
int find(const uint8_t *data, uint8_t byte) {
    int index = 0;
    while (index < BYTES && data[index] != byte)
        index++;
    return index;
}
#elif PART == 4
int plain(const uint8_t *data) {
    int index = 0;
    while (index < BYTES && (data[index] & 0x80) == 0)
        index++;
    return index;
}
#elif PART == 5
uint32_t chain(uint32_t value) {
    for (int step = 0; step < 80 * (100 + MORE); step++)
        value = value * 1664525u + 1013904223u;
    return value;
}
#else
uint32_t SMALL(PART)(uint32_t value) {
    for (int step = 0; step < PART % 7; step++) {
        value = value * PART + step;
        if (value & PART)
            value ^= value >> 3;
        value += PART % 3 ? value << 2 : value;
    }
    return value;
}
#endif
