// SPDX-License-Identifier: Apache-2.0
//
// Accepts connections: a budget per turn, a pause while the process has no fds or the owner wants
// no more, and no close of a listener that a restart passed in.
#ifndef WRIST_GATEWAY_LIB_NET_LISTENER_H
#define WRIST_GATEWAY_LIB_NET_LISTENER_H

#include "gateway/lib/net/address.h"

struct loop;
struct listener;

struct listener_options {
    struct address address;
    int fd;             // of listener_socket, the listener's from now on; 0: it makes one
    int backlog;        // 0: 1024
    int accept_budget;  // connections a turn; 0: 64
    bool reuse_port;    // several processes share the port
    unsigned unix_mode; // of a unix socket's file; 0: 0600
    // NULL, or told once (an errno) when there are no descriptors for those who knock, and again
    // only after some were let in.
    void (*starved)(void *owner, int error);
};

// A socket that listens, for a process that is yet to come; `fd` and what is told by callbacks do
// not count. FAULT negative.
int listener_socket(const struct listener_options *options, struct failure *why);

// `accepted` owns the fd (non-blocking, close-on-exec, TCP_NODELAY).
struct listener *listener_open(struct loop *loop, const struct listener_options *options,
                               void (*accepted)(void *owner, int fd, const struct address *peer),
                               void *owner, struct failure *why);
void listener_pause(struct listener *l); // the owner has enough
void listener_resume(
    struct listener *l); // also after EMFILE, which pauses by itself, again and again
// Before a close: who has knocked already is let in, since the kernel would reset them.
void listener_take_rest(struct listener *l);
void listener_close(struct listener *l);
const struct address *listener_address(const struct listener *l); // with the port the kernel chose

// Credentials of the process at the other end of a unix socket.
struct peer_credentials {
    pid_t pid;
    uid_t uid;
    gid_t gid;
};
int peer_credentials_read(int fd, struct peer_credentials *out, struct failure *why);

#endif
