/* A stand-in for libcuda.so.1: the variable STAND_IN_CUDA holds what cuInit returns, a blank, and the device count.
 *
 * "hang" instead of a code sleeps for ever. It counts no device while CUDA_VISIBLE_DEVICES is set.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cuInit(unsigned flags) {
    (void)flags;
    const char *text = getenv("STAND_IN_CUDA");
    while (text && !strncmp(text, "hang", 4))
        pause();
    return text ? atoi(text) : 0;
}

int cuDeviceGetCount(int *count) {
    const char *text = getenv("STAND_IN_CUDA");
    const char *blank = text ? strchr(text, ' ') : NULL;
    *count = getenv("CUDA_VISIBLE_DEVICES") ? 0 : blank ? atoi(blank) : 1;
    return 0;
}

int cuGetErrorName(int code, const char **name) {
    *name = code == 0 ? "CUDA_SUCCESS" : code == 802 ? "CUDA_ERROR_SYSTEM_NOT_READY" : NULL;
    return *name ? 0 : 1;
}
