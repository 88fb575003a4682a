// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share; nobody else includes it.
//
//   bind_wait  a request that waits: for its binding, then for the worker to know its session
//   binding    what a session, or a principal on a profile, is bound to; one `want` at most
//   want       the wish for a fresh sandbox: queued in its pool, then claimed, then bound; with a
//              volume one that is made for it
//   ward       a sandbox under this binder's care
//   lease      a request that uses a ward
#ifndef WRIST_GATEWAY_POOL_STATE_H
#define WRIST_GATEWAY_POOL_STATE_H

#include "gateway/lib/base/table.h"
#include "gateway/lib/json/writer.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/loop/timer.h"
#include "gateway/pool/owner.h"
#include "gateway/pool/pace.h"
#include "gateway/pool/setup.h"
#include "gateway/sandbox/driver.h"
#include "gateway/sandbox/sandbox.h"
#include "gateway/sandbox/worker.h"
#include "gateway/store/store.h"

struct metric;

struct learner {
    struct list node;
    // The driver's list was compared with what is known here, and what was new in it was asked.
    void (*told)(struct learner *l, const struct failure *why);
    bool owned; // freed where it is not told any more
};

struct binder {
    struct binder_options with;
    struct loop *loop;
    struct store *store;
    struct fleet *fleet;
    struct pool *pools; // one a profile, in the config's order
    size_t pool_count;
    struct table *bindings; // key to binding: those that are bound, and those somebody waits for
    struct table *cards;    // digest to card
    struct table *owners;   // who has how many, see owner.h
    struct list arrivals;   // waits that were not looked at
    struct list waits;      // all of them, by `all`
    struct list askings;    // questions under way, see asking.h
    struct list namings;
    struct list creations;        // asked of the driver, see pool.c
    struct list volume_questions; // see volume.c
    struct task janitor;
    struct timer tick;   // the reaper's
    int64_t prune_at_ms; // monotonic
    // What runs was found and asked; before that nobody is served.
    bool adopted;
    size_t adopting;             // sandboxes still to be asked
    struct failure trouble;      // fault 0 while the driver can be reached
    int64_t trouble_since_ms;    // monotonic
    struct timer patience;       // with a driver that may only be restarting
    int64_t grace_until_ms;      // monotonic; nothing that does not answer is deleted before
    struct pace sweeping;        // of what was found and serves nobody
    struct sandbox_record *kept; // owned; the store's list, until the first adoption is over
    size_t kept_count;
    int64_t listed_at_ms;
    struct timer relist;
    bool listing, list_again;       // asked for; wanted anew meanwhile
    struct list learners, learning; // before and in the list that is asked for
    char replica[ID_SIZE];
    int64_t leads_until_ms; // monotonic
    struct timer lead;
    int64_t heal_at_ms; // monotonic
    // Of a check that somebody waits for; NULL: nobody.
    uint64_t lists;          // of the driver, so far
    bool putting, check_due; // not all of it is there again yet; what is there is looked at then
    bool checking;
    struct learner check;
    void (*checked)(void *owner, const struct store_check *found, const struct failure *why);
    void *check_owner;
    struct metric *sessions, *lost, *adoptions;
    struct metric *bind_us[2]; // cold, warm
};

// Who needs to know what runs before it can go on: embedded in it.
struct want {
    struct list node; // in the pool's wanting or claiming; on none while its sandbox is bound
    struct pool *pool;
    char principal[PRINCIPAL_HASH_SIZE], tenant[ID_SIZE];
    char session[ID_SIZE]; // "" for none
    char note[STORE_NAME_SIZE];
    struct learner learner;
    char popped[ID_SIZE]; // claimed, and not known here: learned about
    int64_t idle_ms, absolute_ms;
    int64_t since_us;
    struct holding holding; // while the store is asked
    bool charged;           // its start counts with the rates of its owners, here
    bool began;             // and in the store
    bool cold;              // no warm sandbox was there when it came
    int attempts;           // sandboxes that refused or did not answer
    struct timer deadline;
    char volume[VOLUME_NAME_SIZE];    // its workspace; "": one that goes with the sandbox
    struct volume_question *question; // the driver is asked for its volumes
    struct ward *ward;                // being made for it, with the volume
    int64_t again_at_ms;              // monotonic; not looked at before
    int64_t patience_ms;              // monotonic; who has the volume may be on its way out
    // Once: with a sandbox that is bound, or the failure.
    void (*done)(struct want *want, struct sandbox *s, const struct failure *why,
                 int64_t retry_after_ms);
};

// Why a sandbox ends: what its binding becomes follows from it.
#define ENDING_TABLE(X)                                                                            \
    X(LOST, "lost")       /* it ended by itself, or does not answer */                             \
    X(IDLE, "idle")       /* its idle life is over, or its principal needed the room */            \
    X(OVER, "absolute")   /* its absolute life is over */                                          \
    X(DELETED, "deleted") /* its owner said so */                                                  \
    X(UNUSED, "unused")   /* nobody has it, and nobody needs it */                                 \
    X(AGED, "aged")       /* warm for longer than a warm one may be */                             \
    X(STALE, "stale")     /* warm, and made of what its profile no longer is */                    \
    X(UNSTARTED, "unstarted")
enum ending {
#define X(name, text) ENDING_##name,
    ENDING_TABLE(X)
#undef X
        ENDINGS
};
const char *ending_name(enum ending ending);

struct pool {
    struct binder *b;
    const struct profile *profile;
    struct list wanting, claiming; // wants
    struct list volume_wants;      // wants with a volume that nothing is made for yet
    size_t reserved;               // being made for a want with a volume
    struct timer volume_again;
    size_t claims;          // wants in claiming: the store is asked
    int failures;           // starts in a row
    int64_t empty_until_ms; // what is warm here was claimed elsewhere, or is
    int64_t retry_at_ms;
    struct failure trouble; // of the last start that failed
    struct timer retry;     // after the backoff, or when the pace lets the next one start
    struct pace pace;       // of starts that nobody waits for
    struct list rebirths;   // ids whose start failed, for the next starts
    size_t rebirth_count;
    size_t stuck;                 // sandboxes whose removal fails
    char digest[DIGEST_SIZE];     // of its image and worker; "" until the driver said
    char revision[REVISION_SIZE]; // of what new sandboxes are made of; "" until the driver said
    const struct card *card;      // borrowed from the binder's table
    bool asking_card;
    struct metric *hits[2]; // cold, warm
    struct metric *starts_failed;
    struct metric *failing; // starts that failed in a row
    struct metric *ended[ENDINGS];
    struct metric *volumes_expired;
};

enum binding_phase {
    PHASE_LOADING, // the store is asked
    PHASE_SETTLED, // record says it
    PHASE_WANTING, // a sandbox was asked for
};

struct binding {
    struct binder *b;
    struct binding_record record;
    enum binding_phase phase;
    const struct profile *profile;
    struct ward *ward;      // NULL unless it is bound to a live sandbox
    struct list waiters;    // bind_wait.node
    struct learner learner; // in PHASE_LOADING: whether its sandbox runs
    bool unasked;           // the store could not say what it is bound to
    int held;               // frames on the stack that still use it
    struct want want;       // in PHASE_WANTING
};

enum wait_kind {
    WAIT_LEASE,
    WAIT_REACH,
    WAIT_CHECK,
    WAIT_END_SESSION,
    WAIT_END_SANDBOX,
    WAIT_CREATE,
    WAIT_GRANT,
};

struct bind_wait {
    struct list node, all;
    struct binder *b;
    enum wait_kind kind;
    char principal[PRINCIPAL_HASH_SIZE], tenant[ID_SIZE];
    const struct profile *profile;
    char session[ID_SIZE]; // "" for none
    int64_t issued_ms;
    char sandbox[ID_SIZE]; // "" where none was named
    struct learner learner;
    bool learned;         // what runs was looked at again
    bool session_checked; // no tombstone stands against it
    bool is_lost;         // what it was meant for is gone, and another request was told so
    char volume[VOLUME_NAME_SIZE];
    char grantee[PRINCIPAL_HASH_SIZE];
    bool is_granted;              // to the grantee, else taken back
    bool was_granted;             // when it was looked up
    int64_t idle_ms, absolute_ms; // of one that is created
    struct asking *asking;        // whether the worker takes the session
    struct naming *naming;        // the creation under way
    struct store_call *keeping;   // of what ended it
    // The one of its kind is set.
    void (*got)(void *owner, struct lease *lease, const struct failure *why, int64_t retry_ms);
    void (*made)(void *owner, struct span sandbox, const struct failure *why, int64_t retry_ms);
    void (*done)(void *owner, const struct failure *why);
    void *owner;
};

struct naming { // a sandbox created by name; goes on where its request vanished
    struct list node;
    struct want want;
    struct bind_wait *wait; // NULL: nobody waits any more
};

struct ward {
    struct binder *b;
    struct sandbox *sandbox; // owned by the fleet
    struct binding *binding; // NULL for warm, named and not yet asked ones
    struct table *sessions;  // that the worker knows, as far as we know
    struct list leases;
    uint64_t listed;        // the last of the driver's lists that it stood in
    bool to_put, to_keep;   // in the store, again; its record too
    struct holding holding; // with its owners, from the claim until nothing of it is left
    bool stuck;             // being removed, again and again: it counts no more
    int removals;           // tries
    bool leaving;           // it is being asked whether it may be evicted
    int64_t busy_until_ms;  // it said that something runs; not asked again before
    bool suspected;         // it is being looked after
    bool unstarted;         // being removed: it was never warm
    bool reserved;          // being made for a want with a volume
    struct want *want;      // that one, while it waits
    int silent;             // questions in a row that it did not answer
    int64_t next_ping_ms;   // monotonic
    int64_t removal_backoff_ms;
    struct timer again; // the next removal or adoption try
    size_t key;         // of the ring, while it is adopted
    int asked;          // times, while it is adopted
    char note[STORE_NAME_SIZE];
};

struct lease {
    struct list node;  // in the ward's
    struct ward *ward; // NULL once the sandbox is gone
    char sandbox[ID_SIZE];
    char session[ID_SIZE];
    char principal[PRINCIPAL_HASH_SIZE]; // whose use it is
    char authorization[16 + 2 * LINK_SECRET_BYTES];
    struct loop *loop;
    struct asking *asking; // a rebind under way
    struct task late;      // a rebind that came too late
    void (*again)(void *owner, const struct failure *why);
    void *owner;
};

// pool.c, refill.c, claim.c
void creations_forget(struct binder *b);
struct ward *pool_start_one(struct pool *p);
int64_t pool_total(const struct pool *p); // that count, in all states
bool pool_is_backing_off(const struct pool *p);
// Nothing is left of one that was never warm: the next start is its next incarnation.
void pool_reborn(struct pool *p, const struct sandbox *s);
struct pool *pool_of(struct binder *b, const struct profile *profile);
void pool_init(struct pool *p, struct binder *b, const struct profile *profile);
void pool_fini(struct pool *p);
void pool_match(struct pool *p);
void pool_refill(struct pool *p);
int64_t pool_waiting(const struct pool *p); // wants in line
void pool_start_failed(struct pool *p, const struct failure *why);
void pool_forgive(struct pool *p);
void pools_forgive(struct binder *b); // the driver is back: failed starts no longer count
void want_start(struct want *w);
void want_bind(struct want *w, struct ward *ward); // claimed for it
void want_fail(struct want *w, const struct failure *why, int64_t retry_after_ms);

// admit.c
enum admission { ADMITTED, PARKED, REFUSED };
enum admission want_admit(struct want *w); // REFUSED: it was told
void want_refuse(struct want *w, bool by_tenant);
void want_refuse_rate(struct want *w, bool by_tenant, int64_t wait_ms);
void want_count(struct want *w); // with its owners, until its holding ends

// binding.c
void key_of_session(char out[STORE_NAME_SIZE], const char *session);
void key_of_principal(char out[STORE_NAME_SIZE], const char *principal,
                      const struct profile *profile, const char *volume);
struct binding *binding_find(struct binder *b, const char *key); // NULL where none is cached
// The cached one, or a new one that asks the store. `w` is settled now or waits in it.
void binding_bring(struct binder *b, const char *key, struct bind_wait *w);
void binding_want(struct binding *binding, struct bind_wait *w); // a sandbox, for w first of all
// Its record says so from now on; the waiting get NOT_FOUND. `until_ms`: the tombstone's end.
void binding_end(struct binding *binding);
void binding_told(struct binding *binding); // LOST was told
void binding_sandbox_ended(struct binding *binding, enum ending ending);
// The record that a named sandbox leaves when it is deleted.
void key_of_named(char key[STORE_NAME_SIZE], const char *sandbox);
// The store says that its session, or the sandbox itself, was deleted; who was to end it did not
// live to do it.
void binding_was_deleted(struct binder *b, const struct binding_record *r);
void binding_ask_deleted(struct ward *ward);   // one that has no binding
void binding_of_note(struct ward *ward);       // after adoption: the binding that its note names
void binding_release(struct binding *binding); // freed unless something keeps it
void binding_free(struct binding *binding);

// wait.c
struct bind_wait *wait_new(struct binder *b, enum wait_kind kind, const struct principal *principal,
                           void *owner);
void wait_arrive(struct bind_wait *w);
void wait_look_up(struct bind_wait *w);
void wait_settle(struct bind_wait *w, struct binding *binding); // the binding says what it is
void wait_take(struct bind_wait *w, struct ward *ward); // a lease on it, once it knows the session
void wait_finish(struct bind_wait *w, const struct failure *why, int64_t retry_after_ms);
void wait_free(struct bind_wait *w);
bool wait_is_view(const struct bind_wait *w); // its session is one of many on a sandbox

// grant.c
void grant_start(struct bind_wait *w, struct ward *ward);

// lease.c
struct lease *lease_new(struct ward *ward, const char *principal, const char *session);

// create.c
void naming_start(struct bind_wait *w);

// ward.c
struct ward *ward_new(struct binder *b, const char *id, int64_t generation,
                      const struct profile *profile);
struct ward *ward_find(struct binder *b, struct span id); // NULL where there is none
void ward_forget(struct ward *w);
void ward_warm(struct ward *w, const char *why);
struct ward_claim {
    const char *principal, *tenant;
    int64_t claimed_ms; // the store's time
    int64_t idle_ms, absolute_ms;
};
void ward_bound(struct ward *w, const struct ward_claim *claim, const char *why);
// Beside the sandbox, for whoever finds it: what it is bound to, and for which tenant.
void ward_note(struct ward *w, const char *key);
void ward_keep(struct ward *w); // its record, deadlines and quotas in the store
void ward_end(struct ward *w, enum ending ending, const char *why);
enum ending ward_ending(const struct ward *w); // what its end means if it has just ended by itself
bool ward_is_over(const struct ward *w);       // its absolute life
int64_t ward_expires_ms(const struct ward *w); // the store's time
void ward_knows(struct ward *w, const char *session);
void ward_suspect(struct ward *w);

void ward_count(struct ward *w);    // of ward_keep, but the record
void ward_met_warm(struct ward *w); // found, made by another replica
// Found, bound by another replica: its worker says so.
void ward_met_bound(struct ward *w, const struct link_status *status);
void ward_disown(struct ward *w); // another replica's claim stands: forgotten here, not ended

// learn.c: what other replicas made
void learn(struct binder *b, struct learner *l);
void learn_begin(struct binder *b); // a list is asked for
void learn_finish(struct binder *b, const struct failure *why);
void learn_forget(struct binder *b);
void learn_about_ghost(struct binder *b, const char *id); // deleted in the store unless it runs
struct ward *ward_of_note(struct binder *b, const char *key, const char *principal);

// heal.c: the store against what runs
bool may_be_coming(const struct binder *b, const struct sandbox_record *r);
void heal_now(struct binder *b);
void heal_warm(struct pool *p); // what is warm here stands in the store again
void heal_tick(struct binder *b);

// lead.c: one replica at a time keeps the pools
void lead_start(struct binder *b);
void lead_stop(struct binder *b); // at once for the next
bool leads(const struct binder *b);

// volume.c: sandboxes whose workspace is a volume
void volume_match(struct pool *p); // wants with a volume that may have a sandbox now
void volume_fill(const struct ward *w, struct driver_create *create);
void volume_ready(struct ward *w, const struct link_status *status); // its worker answers
void volume_failed(struct ward *w, const struct failure *why);       // ends the ward
void volume_forget(struct want *w);                                  // it ends
void volumes_forget(struct binder *b);
bool volume_label_open(const struct binder *b, struct span label, char name[VOLUME_NAME_SIZE]);
int volume_label_seal(const struct binder *b, const char *name, char out[VOLUME_LABEL_SIZE]);

// reaper.c, adopt.c, evict.c
bool driver_is_away(const struct binder *b); // for longer than a restart takes
void reaper_tick(struct timer *timer);
void adopt_start(struct binder *b);
void adopt_stop(struct binder *b);
bool evict_one(struct pool *p, const char *principal); // false: none of them is idle

// retire.c: warm sandboxes that are not handed out any more
bool ward_is_outdated(const struct ward *w, enum ending *why);
void ward_retire(struct ward *w, enum ending why);
void pool_revised(struct pool *p, const char *revision); // the driver's word on new sandboxes

// card.c
void card_ask(struct ward *w);                      // where its digest has no card yet
bool card_load(struct pool *p, const char *digest); // from memory or disk
void cards_tidy(struct binder *b); // off the disk, but those of present profiles and sandboxes
void cards_free(struct table *cards);

#endif
