/* Says, from inside a container, what of the GPUs it can use: one line a fact, "word value…". Usage: probe [LIBRARY…]
 *
 * node PATH MAJOR MINOR        every character device below /dev that has one of NVIDIA's names
 * library NAME yes|no          whether a process can load it (dlopen)
 * open MAJOR MINOR yes|no      whether the device cgroup lets a node of that number be opened: without a driver behind
 *                              it an allowed one says ENXIO, a denied one EPERM
 * link PATH TARGET             symbolic links below the folders of the libraries
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static void list_nodes(const char *folder) {
    DIR *open_folder = opendir(folder);
    struct dirent *entry;
    while (open_folder && (entry = readdir(open_folder))) {
        char path[512];
        struct stat found;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] == '.' || lstat(path, &found))
            continue;
        if (S_ISDIR(found.st_mode) && !strcmp(entry->d_name, "nvidia-caps"))
            list_nodes(path);
        else if (S_ISCHR(found.st_mode) && (!strncmp(entry->d_name, "nvidia", 6) || strstr(folder, "dri")))
            printf("node %s %u %u\n", path, major(found.st_rdev), minor(found.st_rdev));
    }
    if (open_folder)
        closedir(open_folder);
}

static void list_links(const char *folder) {
    DIR *open_folder = opendir(folder);
    struct dirent *entry;
    while (open_folder && (entry = readdir(open_folder))) {
        char path[512], target[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length > 0) {
            target[length] = 0;
            printf("link %s %s\n", path, target);
        }
    }
    if (open_folder)
        closedir(open_folder);
}

static void try_open(unsigned major_number, unsigned minor_number) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/node-%u-%u", major_number, minor_number);
    unlink(path);
    if (mknod(path, S_IFCHR | 0666, makedev(major_number, minor_number))) {
        printf("open %u %u mknod-%s\n", major_number, minor_number, strerrorname_np(errno));
        return;
    }
    int descriptor = open(path, O_RDWR | O_NONBLOCK);
    printf("open %u %u %s\n", major_number, minor_number, descriptor < 0 && errno == EPERM ? "no" : "yes");
    if (descriptor >= 0)
        close(descriptor);
    unlink(path);
}

int main(int count, char **words) {
    list_nodes("/dev");
    list_nodes("/dev/dri");
    list_links("/usr/lib/x86_64-linux-gnu");
    for (int index = 1; index < count; index++) {
        char *colon = strchr(words[index], ':');
        if (colon) {
            try_open(strtoul(words[index], NULL, 10), strtoul(colon + 1, NULL, 10));
            continue;
        }
        void *library = dlopen(words[index], RTLD_NOW);
        printf("library %s %s\n", words[index], library ? "yes" : dlerror());
    }
    return 0;
}
