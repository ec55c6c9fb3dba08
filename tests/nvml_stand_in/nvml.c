/* A stand-in for libnvidia-ml.so.1: it answers what the variable NVML_STAND_IN says, and touches no device.
 *
 * The variable holds words "name=value". gpus=N: the number of GPUs (default 1). A call's name without "nvml", or a
 * GPU's index, a dot and that name, gives the code the call returns: "Init=18", "3.TotalEccErrors=15". Instead of a
 * code: "hang" sleeps for ever, "stuck" sleeps as a thread in the driver does (state D), "crash" ends the process.
 * Any other name is a value that a call answers, for one GPU or for all: "ecc=4", "2.remap_pending=1".
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7 };
enum { MAX_GPUS = 64, MIG_SLOTS = 7 };

typedef struct {
    int gpu;
    int slot; /* -1: the GPU itself */
} Device;

static Device devices[MAX_GPUS], mig_devices[MAX_GPUS][MIG_SLOTS];

/* The text of the word called name, or of "gpu.name"; NULL if there is none. */
static const char *find(int gpu, const char *name) {
    static char value[128];
    char key[96];
    const char *all = getenv("NVML_STAND_IN"), *at;
    for (int round = gpu < 0; all && round < 2; round++) {
        if (round == 0)
            snprintf(key, sizeof key, " %d.%s=", gpu, name);
        else
            snprintf(key, sizeof key, " %s=", name);
        size_t length = strlen(key);
        for (at = all; *at; at++) {
            int start = at == all && !strncmp(at, key + 1, length - 1);
            if (start || !strncmp(at, key, length)) {
                const char *text = at + length - start;
                snprintf(value, sizeof value, "%.*s", (int)strcspn(text, " "), text);
                return value;
            }
        }
    }
    return NULL;
}

static long number(int gpu, const char *name, long otherwise) {
    const char *text = find(gpu, name);
    return text ? strtol(text, NULL, 0) : otherwise;
}

static int call(int gpu, const char *name) {
    const char *text = find(gpu, name);
    if (!text)
        return SUCCESS;
    if (!strcmp(text, "crash"))
        abort();
    if (!strcmp(text, "stuck") && vfork() == 0) /* the parent is in state D until the child ends */
        for (;;)
            pause();
    if (!strcmp(text, "hang"))
        for (;;)
            pause();
    return (int)strtol(text, NULL, 0);
}

#define ENTER(device, name)                                                                                            \
    do {                                                                                                               \
        int code = call((device)->gpu, name);                                                                          \
        if (code)                                                                                                      \
            return code;                                                                                               \
    } while (0)

/* A call that answers one number. */
#define NUMBER(function, name, key, otherwise)                                                                         \
    int function(Device *device, unsigned *value) {                                                                    \
        ENTER(device, name);                                                                                           \
        *value = (unsigned)number(device->gpu, key, otherwise);                                                        \
        return SUCCESS;                                                                                                \
    }

/* A call that answers two numbers: what is, and what will be after a reset. */
#define PAIR(function, name, key, later, otherwise)                                                                    \
    int function(Device *device, unsigned *now, unsigned *pending) {                                                   \
        ENTER(device, name);                                                                                           \
        *now = (unsigned)number(device->gpu, key, otherwise);                                                          \
        *pending = (unsigned)number(device->gpu, later, *now);                                                         \
        return SUCCESS;                                                                                                \
    }

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    for (int gpu = 0; gpu < MAX_GPUS; gpu++) {
        devices[gpu] = (Device){gpu, -1};
        for (int slot = 0; slot < MIG_SLOTS; slot++)
            mig_devices[gpu][slot] = (Device){gpu, slot};
    }
    return call(-1, "Init");
}

int nvmlShutdown(void) { return SUCCESS; }

const char *nvmlErrorString(int code) {
    switch (code) {
    case SUCCESS: return "Success";
    case NOT_SUPPORTED: return "Not Supported";
    case 4: return "Insufficient Permissions";
    case NOT_FOUND: return "Not Found";
    case 9: return "Driver Not Loaded";
    case 14: return "infoROM is corrupted";
    case 15: return "GPU is lost";
    case 16: return "GPU requires reset";
    case 18: return "Driver/library version mismatch";
    default: return "Unknown Error";
    }
}

int nvmlSystemGetDriverVersion(char *text, unsigned length) {
    int code = call(-1, "DriverVersion");
    const char *version = find(-1, "driver");
    snprintf(text, length, "%s", version ? version : "580.95.05");
    return code;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version) {
    *version = (int)number(-1, "cuda", 13000);
    return call(-1, "CudaDriverVersion");
}

int nvmlSystemGetConfComputeState(unsigned *state) {
    if (number(-1, "confidential", -1) < 0)
        return NOT_SUPPORTED;
    state[0] = 1;
    state[1] = (unsigned)number(-1, "confidential", 0);
    state[2] = (unsigned)number(-1, "developer", 0);
    return SUCCESS;
}

int nvmlSystemGetConfComputeGpusReadyState(unsigned *ready) {
    *ready = (unsigned)number(-1, "ready", 1);
    return number(-1, "confidential", -1) < 0 ? NOT_SUPPORTED : SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = (unsigned)number(-1, "gpus", 1);
    return call(-1, "Count");
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device **device) {
    if (index >= (unsigned)number(-1, "gpus", 1) || index >= MAX_GPUS)
        return INVALID_ARGUMENT;
    *device = &devices[index];
    return call((int)index, "HandleByIndex");
}

typedef struct {
    char old_bus_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
} PciInfo;

int nvmlDeviceGetPciInfo_v3(Device *device, PciInfo *info) {
    ENTER(device, "PciInfo");
    memset(info, 0, sizeof *info);
    info->domain = (unsigned)number(device->gpu, "domain", 0);
    info->bus = 0x18u + (unsigned)device->gpu;
    snprintf(info->bus_id, sizeof info->bus_id, "%08X:%02X:00.0", info->domain, info->bus);
    return SUCCESS;
}

int nvmlDeviceGetUUID(Device *device, char *text, unsigned length) {
    ENTER(device, "UUID");
    const char *kind = device->slot < 0 ? "GPU" : "MIG";
    snprintf(text, length, "%s-5a1e0000-0000-4000-8000-0000000000%d%d", kind, device->gpu, device->slot + 1);
    return SUCCESS;
}

int nvmlDeviceGetName(Device *device, char *text, unsigned length) {
    ENTER(device, "Name");
    snprintf(text, length, "NVIDIA H100 80GB HBM3%s", device->slot < 0 ? "" : " MIG 1g.10gb");
    return SUCCESS;
}

int nvmlDeviceGetVbiosVersion(Device *device, char *text, unsigned length) {
    ENTER(device, "VbiosVersion");
    snprintf(text, length, "96.00.89.00.01");
    return SUCCESS;
}

NUMBER(nvmlDeviceGetMinorNumber, "MinorNumber", "minor", device->gpu)
NUMBER(nvmlDeviceGetBrand, "Brand", "brand", 14)
NUMBER(nvmlDeviceGetVirtualizationMode, "VirtualizationMode", "virtualization", 0)
NUMBER(nvmlDeviceGetPersistenceMode, "PersistenceMode", "persistence", 1)
NUMBER(nvmlDeviceGetComputeMode, "ComputeMode", "compute_mode", 0)
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, "RetiredPagesPendingStatus", "retired_pending", 0)
NUMBER(nvmlDeviceGetPowerUsage, "PowerUsage", "power", 71000)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "EnforcedPowerLimit", "power_limit", 700000)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, "PowerManagementDefaultLimit", "power_default", 700000)
NUMBER(nvmlDeviceGetPcieReplayCounter, "PcieReplayCounter", "replays", 0)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "CurrPcieLinkGeneration", "generation", 5)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "MaxPcieLinkGeneration", "generation_max", 5)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "CurrPcieLinkWidth", "width", 16)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "MaxPcieLinkWidth", "width_max", 16)
NUMBER(nvmlDeviceGetMaxMigDeviceCount, "MaxMigDeviceCount", "mig_slots", MIG_SLOTS)
NUMBER(nvmlDeviceGetGpuInstanceId, "GpuInstanceId", "gpu_instance", 7 + device->slot)
NUMBER(nvmlDeviceGetComputeInstanceId, "ComputeInstanceId", "compute_instance", 0)
PAIR(nvmlDeviceGetMigMode, "MigMode", "mig", "mig_pending", 0)
PAIR(nvmlDeviceGetEccMode, "EccMode", "ecc_mode", "ecc_pending", 1)

int nvmlDeviceGetCudaComputeCapability(Device *device, int *major, int *minor) {
    ENTER(device, "CudaComputeCapability");
    *major = (int)number(device->gpu, "capability", 9);
    *minor = 0;
    return SUCCESS;
}

int nvmlDeviceGetTotalEccErrors(Device *device, unsigned type, unsigned counter, uint64_t *count) {
    (void)counter;
    ENTER(device, "TotalEccErrors");
    *count = (uint64_t)number(device->gpu, type == 1 ? "ecc" : "ecc_corrected", 0);
    return SUCCESS;
}

int nvmlDeviceGetRetiredPages(Device *device, unsigned cause, unsigned *count, uint64_t *pages) {
    ENTER(device, "RetiredPages");
    unsigned found = (unsigned)number(device->gpu, cause ? "retired_double" : "retired_single", 0);
    unsigned room = *count;
    *count = found;
    if (!pages || room < found)
        return INSUFFICIENT_SIZE;
    for (unsigned page = 0; page < found; page++)
        pages[page] = 0x1000u * page;
    return SUCCESS;
}

int nvmlDeviceGetRemappedRows(Device *device, unsigned *corrected, unsigned *wrong, unsigned *pending, unsigned *failed) {
    ENTER(device, "RemappedRows");
    *corrected = (unsigned)number(device->gpu, "remap_corrected", 0);
    *wrong = (unsigned)number(device->gpu, "remap_uncorrected", 0);
    *pending = (unsigned)number(device->gpu, "remap_pending", 0);
    *failed = (unsigned)number(device->gpu, "remap_failed", 0);
    return SUCCESS;
}

int nvmlDeviceGetRowRemapperHistogram(Device *device, unsigned *banks) {
    ENTER(device, "RowRemapperHistogram");
    memset(banks, 0, 5 * sizeof *banks);
    banks[0] = 640;
    banks[4] = (unsigned)number(device->gpu, "no_spare_rows", 0);
    return SUCCESS;
}

int nvmlDeviceGetTemperature(Device *device, unsigned sensor, unsigned *value) {
    (void)sensor;
    ENTER(device, "Temperature");
    *value = (unsigned)number(device->gpu, "temperature", 34);
    return SUCCESS;
}

int nvmlDeviceGetTemperatureThreshold(Device *device, unsigned kind, unsigned *value) {
    ENTER(device, "TemperatureThreshold");
    *value = kind == 1 ? 87 : 90;
    return SUCCESS;
}

int nvmlDeviceGetMarginTemperature(Device *device, int *versioned) {
    ENTER(device, "MarginTemperature");
    versioned[1] = (int)number(device->gpu, "margin", 53);
    return SUCCESS;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(Device *device, uint64_t *reasons) {
    ENTER(device, "ClocksThrottleReasons");
    *reasons = (uint64_t)number(device->gpu, "reasons", 1);
    return SUCCESS;
}

typedef struct {
    uint64_t total, free, used;
} Memory;

int nvmlDeviceGetMemoryInfo(Device *device, Memory *memory) {
    ENTER(device, "MemoryInfo");
    memory->total = 85520809984u;
    memory->used = (uint64_t)number(device->gpu, "memory_used", 0);
    memory->free = memory->total - memory->used;
    return SUCCESS;
}

int nvmlDeviceGetAddressingMode(Device *device, unsigned *versioned) {
    ENTER(device, "AddressingMode");
    versioned[1] = 1;
    return SUCCESS;
}

int nvmlDeviceValidateInforom(Device *device) { return call(device->gpu, "Inforom"); }

typedef struct {
    unsigned version;
    uint64_t counts[11];
    unsigned exceeded;
} SramStatus;

int nvmlDeviceGetSramEccErrorStatus(Device *device, SramStatus *status) {
    ENTER(device, "SramEccErrorStatus");
    status->exceeded = (unsigned)number(device->gpu, "sram_exceeded", 0);
    return SUCCESS;
}

typedef struct {
    unsigned field, scope;
    int64_t time, latency;
    unsigned type, code;
    union {
        double real;
        uint64_t whole;
    } value;
} FieldValue;

int nvmlDeviceGetFieldValues(Device *device, int count, FieldValue *values) {
    ENTER(device, "FieldValues");
    for (int index = 0; index < count; index++) {
        values[index].code = values[index].field == 230 ? (unsigned)number(device->gpu, "action_code", 0) : NOT_SUPPORTED;
        values[index].value.whole = (uint64_t)number(device->gpu, "action", 0);
    }
    return SUCCESS;
}

int nvmlDeviceGetMigDeviceHandleByIndex(Device *device, unsigned slot, Device **found) {
    ENTER(device, "MigDeviceHandleByIndex");
    if (slot >= (unsigned)number(device->gpu, "mig_devices", 0) || slot >= MIG_SLOTS)
        return NOT_FOUND;
    *found = &mig_devices[device->gpu][slot];
    return SUCCESS;
}

typedef struct {
    unsigned pid;
    uint64_t memory;
    unsigned gpu_instance, compute_instance;
} Process;

int nvmlDeviceGetComputeRunningProcesses_v3(Device *device, unsigned *count, Process *found) {
    ENTER(device, "ComputeRunningProcesses");
    unsigned pid = (unsigned)number(device->gpu, "pid", 0);
    if (!pid) {
        *count = 0;
        return SUCCESS;
    }
    if (!found) {
        *count = 1;
        return INSUFFICIENT_SIZE;
    }
    *count = 1;
    found[0] = (Process){pid, 1u << 30, 0, 0};
    return SUCCESS;
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(Device *device, unsigned *count, Process *found) {
    (void)found;
    ENTER(device, "GraphicsRunningProcesses");
    *count = 0;
    return SUCCESS;
}

int nvmlDeviceGetNvLinkState(Device *device, unsigned link, unsigned *active) {
    ENTER(device, "NvLinkState");
    if (link >= (unsigned)number(device->gpu, "links", 18))
        return link ? INVALID_ARGUMENT : NOT_SUPPORTED;
    *active = link >= (unsigned)number(device->gpu, "links_down", 0);
    return SUCCESS;
}

typedef struct {
    unsigned version;
    uint8_t cluster[16];
    unsigned status, clique;
    uint8_t state;
    unsigned mask;
    uint8_t summary;
} Fabric;

int nvmlDeviceGetGpuFabricInfoV(Device *device, Fabric *fabric) {
    ENTER(device, "GpuFabricInfo");
    fabric->state = (uint8_t)number(device->gpu, "fabric", 3);
    fabric->status = (unsigned)number(device->gpu, "fabric_status", 0);
    memset(fabric->cluster, 0xab, sizeof fabric->cluster);
    fabric->clique = 1;
    fabric->mask = (unsigned)number(device->gpu, "fabric_mask", 0);
    if (fabric->version >> 24 >= 3)
        fabric->summary = (uint8_t)number(device->gpu, "fabric_summary", 1);
    return SUCCESS;
}

typedef struct {
    unsigned year;
    uint16_t month, day, hour, min, sec;
    uint8_t status;
} Expiry;

typedef struct {
    unsigned code, state;
    char info[128], product[128];
    unsigned enabled;
    Expiry expiry;
} Feature;

typedef struct {
    int supported;
    unsigned count;
    Feature features[3];
} Features;

/* licence=0 or 1: without or with one; licence_status: of its expiry, 2 is a date. */
int nvmlDeviceGetGridLicensableFeatures_v4(Device *device, Features *features) {
    ENTER(device, "GridLicensableFeatures");
    memset(features, 0, sizeof *features);
    features->supported = 1;
    features->count = 2;
    strcpy(features->features[0].product, "NVIDIA Virtual Applications");
    strcpy(features->features[1].product, "NVIDIA RTX Virtual Workstation");
    features->features[1].enabled = 1;
    features->features[1].state = (unsigned)number(device->gpu, "licence", 1);
    features->features[1].expiry = (Expiry){2026, 10, 9, 6, 51, 17, (uint8_t)number(device->gpu, "licence_status", 2)};
    return SUCCESS;
}
