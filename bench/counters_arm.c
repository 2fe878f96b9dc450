/* Process 1 of an emulated arm64 machine: asks the agent what it is to count, switches off. With a number: the work. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words)
{
    if (count > 1) {
        volatile unsigned long sum = 0;
        for (unsigned long left = strtoul(words[1], 0, 10); left > 0; left--)
            sum += left;
        return 0;
    }
    mount("proc", "/proc", "proc", 0, 0);
    mount("sysfs", "/sys", "sysfs", 0, 0);
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[1]);
        close(from[0]);
        execl("/becalm-agent", "becalm-agent", "serve", (char *)0);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    static char text[1 << 20];
    int asked = open("/requests", O_RDONLY);
    ssize_t size = read(asked, text, sizeof text);
    if (size <= 0 || write(to[1], text, (size_t)size) != size)
        puts("{\"event\":\"refused\",\"message\":\"the agent was not asked\"}");
    /* The end of what it is asked ends a conversation at once, so that comes after the last answer. */
    FILE *said = fdopen(from[0], "r");
    while (said != 0 && fgets(text, sizeof text, said) != 0) {
        fputs(text, stdout);
        if (strstr(text, "\"id\":3") != 0 && (strstr(text, "\"done\"") != 0 || strstr(text, "\"error\"") != 0))
            close(to[1]);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("{\"event\":\"ended\",\"status\":%d}\n", status);
    fflush(stdout);
    sleep(1);
    reboot(RB_POWER_OFF);
    return 0;
}
