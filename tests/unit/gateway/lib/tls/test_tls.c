// SPDX-License-Identifier: Apache-2.0
#include "gateway/lib/tls/tls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "gateway/lib/base/memory.h"
#include "gateway/lib/loop/loop.h"
#include "gateway/lib/net/listener.h"

static char folder[] = "/tmp/wrist-tls-XXXXXX";
static char certificate_file[64], key_file[64], foreign_key_file[64];

static void write_key(EVP_PKEY *key, const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(f);
}

static void write_certificate(EVP_PKEY *key, const char *path)
{
    X509 *x = X509_new();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -60);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, key);
    X509_NAME *name = X509_get_subject_name(x);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1, -1,
                               0);
    X509_set_issuer_name(x, name);
    X509_EXTENSION *names =
        X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    X509_add_ext(x, names, -1);
    X509_EXTENSION_free(names);
    assert_true(X509_sign(x, key, EVP_sha256()) > 0);
    FILE *f = fopen(path, "w");
    assert_int_equal(PEM_write_X509(f, x), 1);
    fclose(f);
    X509_free(x);
}

static int make_files(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(certificate_file, sizeof certificate_file, "%s/cert.pem", folder);
    snprintf(key_file, sizeof key_file, "%s/key.pem", folder);
    snprintf(foreign_key_file, sizeof foreign_key_file, "%s/other.pem", folder);
    EVP_PKEY *key = EVP_EC_gen("P-256"), *other = EVP_EC_gen("P-256");
    write_key(key, key_file);
    write_key(other, foreign_key_file);
    write_certificate(key, certificate_file);
    EVP_PKEY_free(key);
    EVP_PKEY_free(other);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    unlink(certificate_file);
    unlink(key_file);
    unlink(foreign_key_file);
    return rmdir(folder);
}

struct end {
    struct stream *stream;
    struct buffer got;
    bool echo, read_ended, closed;
    struct failure why;
};

static void on_readable(void *owner, struct buffer *in)
{
    struct end *e = owner;
    if (e->echo)
        assert_int_equal(stream_write(e->stream, buffer_span(in)), 0);
    assert_int_equal(buffer_append(&e->got, buffer_span(in)), 0);
    buffer_consume(in, buffer_size(in));
}

static void on_read_ended(void *owner)
{
    struct end *e = owner;
    e->read_ended = true;
}

static void on_closed(void *owner, const struct failure *why)
{
    struct end *e = owner;
    e->closed = true;
    e->why = *why;
    e->stream = NULL;
}

static const struct stream_ops ops = {
    .readable = on_readable, .read_ended = on_read_ended, .closed = on_closed};
static const struct stream_limits limits = {
    .read_bytes = 65536, .write_bytes = 4 << 20, .high_water = 65536, .low_water = 16384};

struct rig {
    struct loop *loop;
    struct listener *listener;
    struct tls_context *server_context, *client_context;
    struct end server, client;
};

static void on_accepted(void *owner, int fd, const struct address *peer)
{
    struct rig *r = owner;
    r->server.stream = tls_accept(r->loop, r->server_context, fd, peer, &limits, 5000);
    stream_set_owner(r->server.stream, &ops, &r->server);
}

static void rig_open(struct rig *r, const char *alpn)
{
    struct failure why;
    struct listener_options options = {0};
    *r = (struct rig){.loop = loop_new(clock_system())};
    buffer_init(&r->server.got, 4 << 20);
    buffer_init(&r->client.got, 4 << 20);
    r->server_context = tls_server_new(certificate_file, key_file, &why);
    assert_non_null(r->server_context);
    r->client_context = tls_client_new(certificate_file, alpn, &why);
    assert_non_null(r->client_context);
    assert_int_equal(address_parse(SPAN_LITERAL("127.0.0.1:0"), &options.address, &why), 0);
    r->listener = listener_open(r->loop, &options, on_accepted, r, &why);
    assert_non_null(r->listener);
}

static void rig_connect(struct rig *r, const char *server_name)
{
    r->client.stream = tls_connect(r->loop, r->client_context, listener_address(r->listener),
                                   server_name, &limits, 5000);
    stream_set_owner(r->client.stream, &ops, &r->client);
}

static void rig_close(struct rig *r)
{
    stream_close(r->server.stream);
    stream_close(r->client.stream);
    listener_close(r->listener);
    loop_turn(r->loop, false);
    tls_context_free(r->server_context);
    tls_context_free(r->client_context);
    buffer_fini(&r->server.got);
    buffer_fini(&r->client.got);
    loop_free(r->loop);
}

static void bytes_pass_both_ways_and_an_end_is_an_end(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r, "h2");
    r.server.echo = true;
    rig_connect(&r, "localhost");
    char *big = memory_new(1 << 20);
    for (int i = 0; i < 1 << 20; i++)
        big[i] = (char)(i * 7 + i / 256);
    assert_int_equal(stream_write(r.client.stream, span_of(big, 1 << 20)), 0);
    while (buffer_size(&r.client.got) < 1 << 20 && !r.client.closed)
        loop_turn(r.loop, true);
    assert_false(r.client.closed);
    assert_memory_equal(buffer_span(&r.client.got).data, big, 1 << 20);
    assert_true(span_is(stream_protocol(r.server.stream), "h2"));
    assert_true(stream_is_encrypted(r.client.stream));
    stream_end(r.client.stream);
    while (!r.server.read_ended && !r.server.closed)
        loop_turn(r.loop, true);
    assert_true(r.server.read_ended);
    free(big);
    rig_close(&r);
}

static void a_certificate_for_another_name_is_refused(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r, NULL);
    rig_connect(&r, "example.org");
    while (!r.client.closed || !r.server.closed)
        loop_turn(r.loop, true);
    assert_int_equal(r.client.why.fault, FAULT_PEER);
    assert_non_null(strstr(r.client.why.text, "certificate verify failed"));
    rig_close(&r);
}

static void plain_text_on_a_tls_port_closes_that_connection_only(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r, "http/1.1");
    r.client.stream = stream_connect(r.loop, listener_address(r.listener), &limits, 5000);
    stream_set_owner(r.client.stream, &ops, &r.client);
    stream_write(r.client.stream, SPAN_LITERAL("GET / HTTP/1.1\r\nhost: x\r\n\r\n"));
    while (!r.server.closed)
        loop_turn(r.loop, true);
    assert_int_equal(r.server.why.fault, FAULT_PEER);
    stream_close(r.client.stream);
    r.server.closed = false;
    rig_connect(&r, "127.0.0.1");
    r.server.echo = true;
    stream_write(r.client.stream, SPAN_LITERAL("hello"));
    while (buffer_size(&r.client.got) < 5 && !r.client.closed)
        loop_turn(r.loop, true);
    assert_false(r.client.closed);
    assert_true(span_is(stream_protocol(r.server.stream), "http/1.1"));
    rig_close(&r);
}

static void a_bad_reload_keeps_what_worked(void **state)
{
    (void)state;
    struct failure why;
    assert_null(tls_server_new(certificate_file, foreign_key_file, &why));
    assert_null(tls_server_new("/nonexistent.pem", key_file, &why));
    assert_non_null(strstr(why.text, "/nonexistent.pem"));
    struct rig r;
    rig_open(&r, NULL);
    char away[80];
    snprintf(away, sizeof away, "%s.away", key_file);
    assert_int_equal(rename(key_file, away), 0);
    assert_true(tls_server_reload(r.server_context, &why) < 0);
    assert_int_equal(rename(away, key_file), 0);
    r.server.echo = true;
    rig_connect(&r, "localhost");
    stream_write(r.client.stream, SPAN_LITERAL("x"));
    while (buffer_size(&r.client.got) < 1 && !r.client.closed)
        loop_turn(r.loop, true);
    assert_false(r.client.closed);
    assert_int_equal(tls_server_reload(r.server_context, &why), 0);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_pass_both_ways_and_an_end_is_an_end),
        cmocka_unit_test(a_certificate_for_another_name_is_refused),
        cmocka_unit_test(plain_text_on_a_tls_port_closes_that_connection_only),
        cmocka_unit_test(a_bad_reload_keeps_what_worked),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
