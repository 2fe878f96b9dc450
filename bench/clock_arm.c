/* Process 1 of an emulated arm64 machine: lets user space read the cycle counter, evaluates the timers, switches off. */
#include <stdio.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    mount("proc", "/proc", "proc", 0, 0);
    mount("sysfs", "/sys", "sysfs", 0, 0);
    FILE *access = fopen("/proc/sys/kernel/perf_user_access", "w");
    if (access == 0 || fputs("1", access) < 0 || fclose(access) != 0)
        puts("{\"event\":\"refused\",\"message\":\"kernel.perf_user_access cannot be set\"}");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        execl("/becalm-agent", "becalm-agent", "clock", REQUEST, (char *)0);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("{\"event\":\"ended\",\"status\":%d}\n", status);
    fflush(stdout);
    reboot(RB_POWER_OFF);
    return 0;
}
