// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/confine/seccomp_rules.h"

#include <errno.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define EVERYWHERE (FOR_GATEWAY | FOR_WORKER | FOR_COMMAND)
#define IN_BOX     (FOR_WORKER | FOR_COMMAND)

#define ALLOW(who, names)                                                                          \
    {                                                                                              \
        .profiles = (who), .verdict = VERDICT_ALLOW, .calls = (names)                              \
    }
#define REFUSE(who, number, names)                                                                 \
    {                                                                                              \
        .profiles = (who), .verdict = VERDICT_ERROR, .error = (number), .calls = (names)           \
    }
#define KILL(who, names)                                                                           \
    {                                                                                              \
        .profiles = (who), .verdict = VERDICT_KILL, .calls = (names)                               \
    }
#define ALLOW_EQUAL(who, names, index, number)                                                     \
    {                                                                                              \
        .profiles = (who), .verdict = VERDICT_ALLOW, .calls = (names),                             \
        .comparison = COMPARE_EQUAL, .argument = (index), .value = (number)                        \
    }
#define ALLOW_MASKED(who, names, index, bits, number)                                              \
    {                                                                                              \
        .profiles = (who), .verdict = VERDICT_ALLOW, .calls = (names),                             \
        .comparison = COMPARE_MASKED_EQUAL, .argument = (index), .mask = (bits), .value = (number) \
    }

#define NEW_NAMESPACES                                                                             \
    ((uint64_t)(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |         \
                CLONE_NEWNET | CLONE_NEWCGROUP))

const struct seccomp_rule seccomp_rules[] = {
    // Memory, time, signals, waiting: every program.
    ALLOW(EVERYWHERE,
          "brk mmap munmap mprotect mremap madvise mincore msync membarrier "
          "futex futex_waitv set_robust_list get_robust_list rseq set_tid_address "
          "clock_gettime clock_getres clock_nanosleep gettimeofday time nanosleep times "
          "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait "
          "rt_sigsuspend sigaltstack restart_syscall pause exit exit_group "
          "poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait "
          "epoll_pwait epoll_pwait2 eventfd eventfd2 signalfd signalfd4 timerfd_create "
          "timerfd_settime timerfd_gettime getrandom arch_prctl sched_yield "
          "sched_getaffinity getcpu uname sysinfo getrlimit getrusage"),
    // Who am I.
    ALLOW(EVERYWHERE, "getpid getppid gettid getuid geteuid getgid getegid getgroups getresuid "
                      "getresgid getpgid getpgrp getsid capget tgkill umask getcwd"),
    // Files that the file system lets one reach anyway.
    ALLOW(
        EVERYWHERE,
        "read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek open "
        "openat openat2 creat close close_range stat fstat lstat newfstatat statx access faccessat "
        "faccessat2 readlink readlinkat getdents getdents64 dup dup2 dup3 fcntl flock fsync "
        "fdatasync ftruncate truncate fallocate rename renameat renameat2 unlink unlinkat mkdir "
        "mkdirat rmdir chmod fchmod fchmodat fchmodat2 fadvise64 statfs fstatfs pipe pipe2 "
        "sendfile splice tee memfd_create readahead copy_file_range sync_file_range"),
    // Sockets. New ones are ruled on by family below.
    ALLOW(EVERYWHERE, "socketpair bind listen accept accept4 connect getsockname getpeername "
                      "getsockopt setsockopt shutdown sendto recvfrom sendmsg recvmsg sendmmsg "
                      "recvmmsg"),

    // The rest of what builds, tests, interpreters and debuggers in a sandbox need.
    ALLOW(IN_BOX, "execve execveat fork vfork wait4 waitid waitpid kill tkill rt_sigqueueinfo "
                  "rt_tgsigqueueinfo pidfd_open pidfd_send_signal pidfd_getfd setpgid setsid "
                  "setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups "
                  "capset prctl prlimit64 setrlimit setpriority getpriority ioprio_get ioprio_set "
                  "sched_setaffinity sched_getscheduler sched_setscheduler sched_getparam "
                  "sched_setparam sched_getattr sched_setattr sched_get_priority_max "
                  "sched_get_priority_min sched_rr_get_interval alarm getitimer setitimer "
                  "timer_create timer_delete timer_getoverrun timer_gettime timer_settime "
                  "ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp "
                  "set_thread_area get_thread_area modify_ldt seccomp map_shadow_stack cachestat"),
    ALLOW(IN_BOX, "chdir fchdir chown fchown lchown fchownat link linkat symlink symlinkat mknod "
                  "mknodat utime utimes utimensat futimesat sync syncfs vmsplice "
                  "getxattr lgetxattr fgetxattr setxattr lsetxattr fsetxattr listxattr llistxattr "
                  "flistxattr removexattr lremovexattr fremovexattr inotify_init inotify_init1 "
                  "inotify_add_watch inotify_rm_watch io_setup io_destroy io_submit io_cancel "
                  "io_getevents io_pgetevents name_to_handle_at landlock_create_ruleset "
                  "landlock_add_rule landlock_restrict_self memfd_secret"),
    ALLOW(IN_BOX, "shmget shmat shmdt shmctl semget semop semtimedop semctl msgget msgsnd msgrcv "
                  "msgctl mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr "
                  "mlock mlock2 munlock mlockall munlockall mbind get_mempolicy set_mempolicy "
                  "migrate_pages move_pages remap_file_pages pkey_alloc pkey_free pkey_mprotect"),

    // Threads and processes, but no namespaces: those are where kernels are broken out of. clone3
    // hides its flags behind a pointer, so it has no row; the C library falls back to clone.
    ALLOW_MASKED(IN_BOX, "clone", 0, NEW_NAMESPACES, 0),
    // A thread of our own (resolver, sanitizer), never a process.
    ALLOW_MASKED(FOR_GATEWAY, "clone", 0, (uint64_t)CLONE_THREAD, (uint64_t)CLONE_THREAD),

    // Not AF_VSOCK (the hypervisor), AF_ALG, AF_PACKET and the long tail of rare protocols.
    ALLOW_EQUAL(EVERYWHERE, "socket", 0, AF_UNIX),
    ALLOW_EQUAL(EVERYWHERE, "socket", 0, AF_INET),
    ALLOW_EQUAL(EVERYWHERE, "socket", 0, AF_INET6),
    ALLOW_EQUAL(IN_BOX, "socket", 0, AF_NETLINK),

    // Linux, 32-bit layout, no randomisation (debuggers, sanitizers), or just asking.
    ALLOW_EQUAL(IN_BOX, "personality", 0, 0x0),
    ALLOW_EQUAL(IN_BOX, "personality", 0, 0x8),
    ALLOW_EQUAL(IN_BOX, "personality", 0, 0x20000),
    ALLOW_EQUAL(IN_BOX, "personality", 0, 0x40000),
    ALLOW_EQUAL(IN_BOX, "personality", 0, 0x20008),
    ALLOW_EQUAL(IN_BOX, "personality", 0, 0xffffffff),

    // Everything but pushing input into a terminal that someone else reads.
    {.profiles = IN_BOX,
     .verdict = VERDICT_ALLOW,
     .calls = "ioctl",
     .comparison = COMPARE_NOT_EQUAL,
     .argument = 1,
     .value = TIOCSTI},
    ALLOW_EQUAL(FOR_GATEWAY, "ioctl", 1, FIONREAD),
    ALLOW_EQUAL(FOR_GATEWAY, "ioctl", 1, FIONBIO),
    ALLOW_EQUAL(FOR_GATEWAY, "ioctl", 1, TCGETS), // isatty of stdio

    // Asking for a limit is fine, prlimit64 of other processes is the kernel's to refuse.
    ALLOW(FOR_GATEWAY, "prlimit64"),

    // Told apart from "this kernel lacks it": programs report EPERM and do not try another way.
    // io_uring has no row: ENOSYS makes its users take the ordinary calls.
    REFUSE(IN_BOX, EPERM,
           "mount umount umount2 pivot_root chroot setns unshare fsopen fsconfig fsmount fspick "
           "open_tree move_mount mount_setattr bpf perf_event_open userfaultfd keyctl add_key "
           "request_key kexec_load kexec_file_load init_module finit_module delete_module "
           "open_by_handle_at quotactl quotactl_fd reboot swapon swapoff syslog acct settimeofday "
           "clock_settime clock_adjtime adjtimex stime sethostname setdomainname iopl ioperm "
           "vhangup lookup_dcookie nfsservctl fanotify_init fanotify_mark"),

    // A gateway that does one of these is no longer ours.
    KILL(FOR_GATEWAY,
         "execve execveat fork vfork ptrace process_vm_readv process_vm_writev mount umount2 "
         "pivot_root chroot setns unshare bpf perf_event_open userfaultfd keyctl add_key "
         "request_key kexec_load init_module finit_module delete_module open_by_handle_at "
         "io_uring_setup personality"),
};

const size_t seccomp_rule_count = sizeof seccomp_rules / sizeof seccomp_rules[0];
