// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over every file of the corpus folders named on the command line.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        perror(path);
        return -1;
    }
    struct stat st;
    if (fstat(fileno(f), &st) != 0) {
        perror(path);
        fclose(f);
        return -1;
    }
    // An exact-size heap block, so that ASan sees the first byte read past the input.
    uint8_t *data = malloc(st.st_size > 0 ? (size_t)st.st_size : 1);
    size_t size = fread(data, 1, (size_t)st.st_size, f);
    fclose(f);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

static int replay_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        perror(folder);
        return -1;
    }
    int files = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (replay_file(path) != 0)
            break;
        files++;
    }
    closedir(dir);
    return files;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        int files = replay_folder(argv[i]);
        if (files <= 0) {
            fprintf(stderr, "%s: no corpus file was replayed\n", argv[i]);
            return 1;
        }
        printf("%s: %d inputs\n", argv[i], files);
    }
    return 0;
}
