// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/control/link.h"

#include "gateway/lib/base/memory.h"
#include "gateway/lib/control/fields.h"

static const struct field bind_rows[] = {
    {"principal", FIELD_HASH, FIELD_AT(struct link_bind, principal)},
    {"session", FIELD_ID, FIELD_AT(struct link_bind, session), .optional = true},
    {"generation", FIELD_I64, FIELD_AT(struct link_bind, generation), .least = 1},
    {"idle_ms", FIELD_I64, FIELD_AT(struct link_bind, idle_ms)},
    {"absolute_ms", FIELD_I64, FIELD_AT(struct link_bind, absolute_ms)},
};
static const struct fields bind_fields = {"bind", bind_rows, ARRAY_COUNT(bind_rows)};

static const struct field grant_rows[] = {
    {"principal", FIELD_HASH, FIELD_AT(struct link_grant, principal)},
    {"generation", FIELD_I64, FIELD_AT(struct link_grant, generation), .least = 1},
    {"granted", FIELD_I64, FIELD_AT(struct link_grant, granted)},
};
static const struct fields grant_fields = {"grant", grant_rows, ARRAY_COUNT(grant_rows)};

static const struct field status_rows[] = {
    {"sandbox", FIELD_ID, FIELD_AT(struct link_status, sandbox)},
    {"generation", FIELD_I64, FIELD_AT(struct link_status, generation), .least = 1},
    {"principal", FIELD_HASH, FIELD_AT(struct link_status, principal), .optional = true},
    {"idle_ms", FIELD_I64, FIELD_AT(struct link_status, idle_ms)},
    {"absolute_left_ms", FIELD_I64, FIELD_AT(struct link_status, absolute_left_ms), .least = -1},
    {"calls", FIELD_I64, FIELD_AT(struct link_status, calls)},
    {"sessions", FIELD_I64, FIELD_AT(struct link_status, sessions)},
};
static const struct fields status_fields = {"status", status_rows, ARRAY_COUNT(status_rows)};

int link_bind_write(const struct link_bind *b, struct buffer *out)
{
    return fields_write(&bind_fields, b, out);
}

int link_bind_parse(struct span json, struct link_bind *out, struct failure *why)
{
    return fields_parse(&bind_fields, json, out, sizeof *out, why);
}

int link_grant_write(const struct link_grant *g, struct buffer *out)
{
    return fields_write(&grant_fields, g, out);
}

int link_grant_parse(struct span json, struct link_grant *out, struct failure *why)
{
    return fields_parse(&grant_fields, json, out, sizeof *out, why);
}

int link_status_write(const struct link_status *s, struct buffer *out)
{
    return fields_write(&status_fields, s, out);
}

int link_status_parse(struct span json, struct link_status *out, struct failure *why)
{
    return fields_parse(&status_fields, json, out, sizeof *out, why);
}
