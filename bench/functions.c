/* A program of ten functions that take 19, 17, … 1 % of its time; SLOW names the one that does MORE % more. */
#include <stdio.h>
#include <stdlib.h>

#ifndef SLOW
#define SLOW (-1)
#endif
#ifndef MORE
#define MORE 0
#endif

#define STEPS(number) ((19 - 2 * (number)) * (long)(100 + ((number) == SLOW ? MORE : 0)))

#define FUNCTION(number)                                                   \
    __attribute__((noinline)) unsigned work##number(unsigned value) {      \
        for (long step = 0; step < STEPS(number); step++)                  \
            value = value * 1664525u + 1013904223u + number;               \
        return value;                                                      \
    }

FUNCTION(0) FUNCTION(1) FUNCTION(2) FUNCTION(3) FUNCTION(4)
FUNCTION(5) FUNCTION(6) FUNCTION(7) FUNCTION(8) FUNCTION(9)

int main(int count, char **arguments) {
    unsigned value = 1;
    for (int turns = count > 1 ? atoi(arguments[1]) : 3000; turns > 0; turns--) {
        value = work4(work3(work2(work1(work0(value)))));
        value = work9(work8(work7(work6(work5(value)))));
    }
    printf("%u\n", value);
    return 0;
}
