// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/control/driver_api.h"

#include "gateway/lib/base/memory.h"
#include "gateway/lib/control/fields.h"

static const char *const state_words[] = {
#define X(name, text) text,
    DRIVER_STATE_TABLE(X)
#undef X
        NULL,
};

static const struct field create_rows[] = {
    {"id", FIELD_ID, FIELD_AT(struct driver_create, id)},
    {"fleet", FIELD_ID, FIELD_AT(struct driver_create, fleet)},
    {"profile", FIELD_NAME, FIELD_AT(struct driver_create, profile)},
    {"generation", FIELD_I64, FIELD_AT(struct driver_create, generation), .least = 1},
    {"secret", FIELD_BYTES, FIELD_AT(struct driver_create, secret)},
    {"orphan_ms", FIELD_I64, FIELD_AT(struct driver_create, orphan_ms), .least = 1},
    {"volume", FIELD_HASH, FIELD_AT(struct driver_create, volume), .optional = true},
    {"volume_owner", FIELD_HASH, FIELD_AT(struct driver_create, volume_owner), .optional = true},
    {"volume_label", FIELD_TEXT, FIELD_AT(struct driver_create, volume_label), .optional = true},
    {"volume_keep_ms", FIELD_I64, FIELD_AT(struct driver_create, volume_keep_ms), .optional = true},
    {"volumes_most", FIELD_I64, FIELD_AT(struct driver_create, volumes_most), .optional = true},
};
static const struct fields create_fields = {"sandbox creation", create_rows,
                                            ARRAY_COUNT(create_rows)};

static const struct field record_rows[] = {
    {"id", FIELD_ID, FIELD_AT(struct driver_record, id)},
    {"fleet", FIELD_ID, FIELD_AT(struct driver_record, fleet)},
    {"profile", FIELD_NAME, FIELD_AT(struct driver_record, profile)},
    {"generation", FIELD_I64, FIELD_AT(struct driver_record, generation), .least = 1},
    {"state", FIELD_WORD, FIELD_AT(struct driver_record, state), .words = state_words},
    {"created_ms", FIELD_I64, FIELD_AT(struct driver_record, created_ms)},
    {"endpoint", FIELD_TEXT, FIELD_AT(struct driver_record, endpoint), .optional = true},
    {"digest", FIELD_TEXT, FIELD_AT(struct driver_record, digest), .optional = true},
    {"revision", FIELD_TEXT, FIELD_AT(struct driver_record, revision), .optional = true},
    {"note", FIELD_TEXT, FIELD_AT(struct driver_record, note), .optional = true},
    {"volume", FIELD_HASH, FIELD_AT(struct driver_record, volume), .optional = true},
};
static const struct fields record_fields = {"sandbox record", record_rows,
                                            ARRAY_COUNT(record_rows)};

static const struct field volume_rows[] = {
    {"id", FIELD_HASH, FIELD_AT(struct driver_volume, id)},
    {"fleet", FIELD_ID, FIELD_AT(struct driver_volume, fleet)},
    {"owner", FIELD_HASH, FIELD_AT(struct driver_volume, owner)},
    {"label", FIELD_TEXT, FIELD_AT(struct driver_volume, label), .optional = true},
    {"profile", FIELD_NAME, FIELD_AT(struct driver_volume, profile)},
    {"bytes", FIELD_I64, FIELD_AT(struct driver_volume, bytes), .least = 1},
    {"keep_ms", FIELD_I64, FIELD_AT(struct driver_volume, keep_ms), .least = 1},
    {"created_ms", FIELD_I64, FIELD_AT(struct driver_volume, created_ms)},
    {"used_ms", FIELD_I64, FIELD_AT(struct driver_volume, used_ms)},
    {"sandbox", FIELD_ID, FIELD_AT(struct driver_volume, sandbox), .optional = true},
};
static const struct fields volume_fields = {"volume", volume_rows, ARRAY_COUNT(volume_rows)};

int driver_create_write(const struct driver_create *c, struct buffer *out)
{
    return fields_write(&create_fields, c, out);
}

int driver_create_parse(struct span json, struct driver_create *out, struct failure *why)
{
    return fields_parse(&create_fields, json, out, sizeof *out, why);
}

int driver_record_write(const struct driver_record *r, struct buffer *out)
{
    return fields_write(&record_fields, r, out);
}

int driver_record_parse(struct span json, struct driver_record *out, struct failure *why)
{
    return fields_parse(&record_fields, json, out, sizeof *out, why);
}

int driver_volume_write(const struct driver_volume *v, struct buffer *out)
{
    return fields_write(&volume_fields, v, out);
}

int driver_volume_parse(struct span json, struct driver_volume *out, struct failure *why)
{
    return fields_parse(&volume_fields, json, out, sizeof *out, why);
}
