// SPDX-License-Identifier: Apache-2.0
#include "driver/oci/runtime.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "driver/files.h"
#include "driver/job.h"
#include "driver/oci/cgroup.h"
#include "gateway/lib/base/memory.h"

static const struct {
    const char *name;
    enum runtime_kind kind;
} kinds[] = {
    {"runc", RUNTIME_RUNC},
    {"crun", RUNTIME_CRUN},
    {"runsc", RUNTIME_RUNSC},
};

static const char *const folders[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                      "/usr/bin",        "/sbin",          "/bin"};

static int runtime_probe(enum runtime_kind kind, const char *path, struct runtime *out,
                         struct failure *why)
{
    // crun sets up no device filter where v1 and v2 hierarchies are mixed, and refuses.
    if (kind == RUNTIME_CRUN && cgroups_are_hybrid())
        return failure_set(why, FAULT_UNSUPPORTED, "%s refuses hybrid cgroups", path);
    char said[256];
    char *const argv[] = {memory_copy_string(path), memory_copy_string("--version"), NULL};
    int fault = program_ask(argv, said, sizeof said, why);
    memory_free_at(&(char *){argv[0]});
    memory_free_at(&(char *){argv[1]});
    if (fault != 0)
        return fault;
    *out = (struct runtime){.kind = kind};
    snprintf(out->path, sizeof out->path, "%s", path);
    snprintf(out->version, sizeof out->version, "%.*s", (int)strcspn(said, "\n"), said);
    return 0;
}

static int runtime_at(const char *path, struct runtime *out, struct failure *why)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++)
        if (strstr(name, kinds[i].name) != NULL)
            return runtime_probe(kinds[i].kind, path, out, why);
    return failure_set(why, FAULT_UNSUPPORTED, "%s: expected a runc, crun or runsc", path);
}

int runtime_find(const char *setting, struct runtime *out, struct failure *why)
{
    if (strcmp(setting, "auto") != 0)
        return runtime_at(setting, out, why);
    struct failure last = {0};
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        for (size_t f = 0; f < ARRAY_COUNT(folders); f++) {
            char path[FILE_PATH_SIZE];
            if (path_format(path, why, "%s/%s", folders[f], kinds[i].name) != 0)
                continue;
            if (access(path, X_OK) == 0 && runtime_probe(kinds[i].kind, path, out, &last) == 0)
                return 0;
        }
    }
    return failure_set(why, FAULT_NOT_FOUND, "no OCI runtime works here (runc, crun or runsc)%s%s",
                       last.fault != 0 ? "; " : "", last.text);
}

size_t runtime_arguments(const struct runtime *r, const char *state_root, const char *log_file,
                         bool rootless, const char *out[RUNTIME_ARGUMENTS_MAX])
{
    size_t count = 0;
    out[count++] = r->path;
    out[count++] = "--root";
    out[count++] = state_root;
    out[count++] = "--log";
    out[count++] = log_file;
    out[count++] = "--log-format";
    out[count++] = "json";
    if (r->kind == RUNTIME_RUNSC) {
        // KVM is not ours to take, and its cgroup code fails on hybrid hierarchies.
        out[count++] = "--platform=ptrace";
        out[count++] = "--ignore-cgroups";
        if (rootless)
            out[count++] = "--rootless";
    }
    out[count] = NULL;
    return count;
}
