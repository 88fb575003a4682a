// SPDX-License-Identifier: Apache-2.0
#include "gateway/proxy/place.h"

#include "gateway/lib/base/encode.h"
#include "gateway/proxy/inside.h"

static void find_by_handle(struct visit *v, struct place *out)
{
    struct handle_name handle;
    out->is_handle = out->is_dead = true;
    if (handle_name_open(v->proxy->keyring, principal_hash(v->principal), v->match.parameters[0],
                         &handle) != 0)
        return;
    out->profile = config_profile(v->config, handle.profile);
    out->is_dead = out->profile == NULL;
    memcpy(out->sandbox, handle.sandbox, sizeof out->sandbox);
}

static bool is_handle_route(const struct visit *v)
{
    return span_starts_with(span_from_string(v->match.route->pattern), SPAN_LITERAL("/s/"));
}

// A name needs no percent-encoding, and one that has it is none.
static void find_volume(struct visit *v, struct place *out)
{
    struct span name = query_value(exchange_query(v->ex), "volume");
    if (out->is_handle || name.size == 0)
        return;
    out->has_bad_volume = !volume_name_is_valid(name);
    if (!out->has_bad_volume)
        span_copy_string(name, out->volume, sizeof out->volume);
}

int place_find(struct visit *v, struct place *out, struct failure *why)
{
    char name[PROFILE_NAME_SIZE];
    struct span parameter = v->match.parameters[0];
    *out = (struct place){0};
    if (is_handle_route(v)) {
        find_by_handle(v, out);
    } else if (v->match.parameter_count == 0) {
        out->profile = config_profile(v->config, v->config->default_profile);
    } else if (span_copy_string(parameter, name, sizeof name)) {
        out->profile = config_profile(v->config, name);
    }
    if (out->is_dead)
        return 0;
    if (out->profile == NULL)
        return failure_set(why, FAULT_NOT_FOUND, "there is no such profile");
    if (!principal_may_use(v->principal, out->profile->name) && out->is_handle &&
        !binder_serves_sandbox(v->proxy->binder, v->principal, span_from_string(out->sandbox))) {
        out->is_dead = true; // not even its profile is for strangers to know
        return 0;
    }
    if (!principal_may_use(v->principal, out->profile->name))
        return failure_set(why, FAULT_DENIED, "this token may not use the profile");
    memcpy(v->profile, out->profile->name, sizeof v->profile);
    find_volume(v, out);
    return 0;
}

int place_check_volume(const struct place *p, struct failure *why)
{
    if (p->has_bad_volume)
        return failure_set(why, FAULT_INVALID,
                           "?volume=: expected a name of at most %d characters a-z, 0-9, '.', '_' "
                           "and '-', a letter or digit first",
                           VOLUME_NAME_SIZE - 1);
    if (p->volume[0] != '\0' && p->profile->volumes == 0)
        return failure_set(why, FAULT_INVALID, "?volume=: profile %s has no volumes",
                           p->profile->name);
    return 0;
}

struct span place_key(const struct place *p)
{
    return span_from_string(p->is_handle ? p->sandbox : p->profile->name);
}

void session_note(struct visit *v, const struct session_name *name)
{
    memcpy(v->session, name->mark, sizeof v->session);
}

void session_read(struct visit *v, const struct place *place, struct session *out)
{
    struct span text = exchange_header(v->ex, "mcp-session-id");
    *out = (struct session){.state = span_is_absent(text) ? SESSION_ABSENT : SESSION_UNKNOWN};
    if (span_is_absent(text) || place->is_dead)
        return;
    if (opened_session(v->proxy->opened, v->principal, place_key(place), text, &out->name) != 0)
        return;
    out->state = SESSION_KNOWN;
    session_note(v, &out->name);
}

const char *place_volume(const struct place *place, const struct session *session)
{
    return session->state == SESSION_KNOWN ? session->name.volume : place->volume;
}

struct bind_request place_bind_request(struct visit *v, const struct place *place,
                                       const struct session *session)
{
    struct bind_request r = {.principal = v->principal, .profile = place->profile};
    if (session->state == SESSION_KNOWN) {
        r.session = span_from_string(session->name.id);
        r.session_issued_ms = session->name.issued_ms;
    }
    r.volume = span_from_string(place_volume(place, session));
    if (place->is_handle)
        r.sandbox = span_from_string(place->sandbox);
    return r;
}
