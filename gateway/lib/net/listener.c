// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/net/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"

enum { DEFAULT_BACKLOG = 1024, DEFAULT_BUDGET = 64, NO_FD_PAUSE_MS = 100 };

struct listener {
    struct loop *loop;
    struct watch *watch; // owned
    int fd;              // owned, unless inherited
    int budget;
    bool inherited, paused_by_owner, closed, is_starved;
    struct address address;
    struct timer retry; // runs while the process has no descriptor left
    void (*accepted)(void *owner, int fd, const struct address *peer);
    void (*starved)(void *owner, int error);
    void *owner;
};

static void update_watch(struct listener *l)
{
    bool on = !l->closed && !l->paused_by_owner && !timer_is_pending(&l->retry);
    if (!l->closed)
        watch_set(l->watch, on ? WATCH_READ : 0);
}

static void on_retry(struct timer *t)
{
    update_watch(CONTAINER_OF(t, struct listener, retry));
}

static void set_no_delay(int fd, const struct address *peer)
{
    int one = 1;
    if (!address_is_unix(peer))
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

// Errors of a connection that died in the queue are the connection's, not the listener's.
static bool is_out_of_descriptors(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// The queue keeps who knocks. One that closes elsewhere makes room, which is looked for from time
// to time: an accept that fails at once would be the loop's only work otherwise.
static void starve(struct listener *l, int error)
{
    bool news = !l->is_starved;
    l->is_starved = true;
    timer_start(&l->retry, NO_FD_PAUSE_MS);
    update_watch(l);
    if (news && l->starved != NULL)
        l->starved(l->owner, error);
}

static void accept_some(struct listener *l, int budget)
{
    for (int i = 0; i < budget && !l->closed && !l->paused_by_owner; i++) {
        struct address peer = {.inherited_fd = -1, .size = sizeof peer.storage};
        int fd = accept4(l->fd, (struct sockaddr *)&peer.storage, &peer.size,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (fd < 0 && is_out_of_descriptors(errno)) {
            starve(l, errno);
            return;
        }
        if (fd < 0)
            continue;
        l->is_starved = false;
        set_no_delay(fd, &peer);
        l->accepted(l->owner, fd, &peer);
    }
}

static void on_readable(void *owner, int events)
{
    struct listener *l = owner;
    (void)events;
    accept_some(l, l->budget);
}

static int check_inherited(struct listener *l, struct failure *why)
{
    int listening = 0;
    socklen_t size = sizeof listening;
    l->fd = l->address.inherited_fd;
    l->inherited = true;
    if (getsockopt(l->fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) != 0 || listening == 0)
        return failure_set(why, FAULT_INVALID, "fd:%d is not a listening socket", l->fd);
    if (fcntl(l->fd, F_SETFL, fcntl(l->fd, F_GETFL) | O_NONBLOCK) != 0 ||
        fcntl(l->fd, F_SETFD, FD_CLOEXEC) != 0)
        return failure_errno(why, "fd:%d", l->fd);
    return 0;
}

// A socket file that nobody listens on any more is in the way of ours; anything else stays.
static void remove_stale_socket(const struct address *a)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)&a->storage;
    struct stat st;
    if (lstat(un->sun_path, &st) != 0 || !S_ISSOCK(st.st_mode))
        return;
    if (address_is_deserted(a))
        unlink(un->sun_path);
}

// The mode counts from the first moment, so it is set on the socket before it is bound.
static int bind_socket(int fd, const struct listener_options *o)
{
    const struct address *a = &o->address;
    int one = 1;
    if (address_is_unix(a)) {
        remove_stale_socket(a);
        if (fchmod(fd, o->unix_mode != 0 ? o->unix_mode : 0600) != 0)
            return -1;
        mode_t old = umask(0);
        int rc = bind(fd, (const struct sockaddr *)&a->storage, a->size);
        umask(old);
        return rc;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (a->storage.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (o->reuse_port && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) != 0)
        return -1;
    return bind(fd, (const struct sockaddr *)&a->storage, a->size);
}

int listener_socket(const struct listener_options *o, struct failure *why)
{
    char text[ADDRESS_TEXT_SIZE];
    address_format(&o->address, text);
    int fd = socket(o->address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return failure_errno(why, "socket for %s", text);
    if (bind_socket(fd, o) != 0 || listen(fd, o->backlog > 0 ? o->backlog : DEFAULT_BACKLOG) != 0) {
        int rc = failure_errno(why, "listen on %s", text);
        close(fd);
        return rc;
    }
    return fd;
}

static int take_socket(struct listener *l, const struct listener_options *o, struct failure *why)
{
    if (o->fd == 0 && o->address.inherited_fd >= 0)
        return check_inherited(l, why);
    l->fd = o->fd != 0 ? o->fd : listener_socket(o, why);
    return l->fd < 0 ? l->fd : 0;
}

struct listener *listener_open(struct loop *loop, const struct listener_options *options,
                               void (*accepted)(void *owner, int fd, const struct address *peer),
                               void *owner, struct failure *why)
{
    struct listener *l = memory_new(sizeof *l);
    *l = (struct listener){
        .loop = loop, .accepted = accepted, .starved = options->starved, .owner = owner};
    l->address = options->address;
    l->budget = options->accept_budget > 0 ? options->accept_budget : DEFAULT_BUDGET;
    if (take_socket(l, options, why) != 0) {
        free(l);
        return NULL;
    }
    l->address.size = sizeof l->address.storage;
    getsockname(l->fd, (struct sockaddr *)&l->address.storage, &l->address.size);
    l->address.inherited_fd = -1;
    timer_init(&l->retry, loop, on_retry);
    l->watch = watch_new(loop, l->fd, on_readable, l);
    update_watch(l);
    return l;
}

void listener_pause(struct listener *l)
{
    l->paused_by_owner = true;
    update_watch(l);
}

void listener_resume(struct listener *l)
{
    l->paused_by_owner = false;
    timer_cancel(&l->retry);
    update_watch(l);
}

// A socket that was passed in stays open: its next owner takes them.
void listener_take_rest(struct listener *l)
{
    if (!l->inherited)
        accept_some(l, DEFAULT_BACKLOG);
}

void listener_close(struct listener *l)
{
    if (l == NULL || l->closed)
        return;
    l->closed = true;
    timer_cancel(&l->retry);
    watch_free(l->watch);
    if (!l->inherited)
        close(l->fd);
    loop_bury(l->loop, l, free);
}

const struct address *listener_address(const struct listener *l)
{
    return &l->address;
}

int peer_credentials_read(int fd, struct peer_credentials *out, struct failure *why)
{
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
        return failure_errno(why, "credentials of the peer");
    *out = (struct peer_credentials){credentials.pid, credentials.uid, credentials.gid};
    return 0;
}
