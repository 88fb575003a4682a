// SPDX-License-Identifier: Apache-2.0
// digest, keyring and seal.
#include "gateway/lib/crypto/seal.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "gateway/lib/base/encode.h"
#include "gateway/lib/crypto/digest.h"

static char folder[] = "/tmp/wrist-crypto-XXXXXX";
static char ring_file[64];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(ring_file, sizeof ring_file, "%s/keys", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(ring_file);
    return rmdir(folder);
}

static int remove_ring(void **state)
{
    (void)state;
    unlink(ring_file);
    return 0;
}

static void assert_hex(const unsigned char *bytes, size_t size, const char *hex)
{
    char text[256];
    hex_encode(span_of(bytes, size), text);
    assert_string_equal(text, hex);
}

static void digests_agree_with_the_published_vectors(void **state)
{
    (void)state;
    unsigned char out[SHA256_SIZE], okm[42], key[22], salt[13], info[10];
    char hex[SHA256_HEX_SIZE];
    sha256_hex(SPAN_LITERAL("abc"), hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sha256_hex(SPAN_NONE, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    struct sha256 *s = sha256_start();
    sha256_update(s, SPAN_LITERAL("a"));
    sha256_update(s, SPAN_NONE);
    sha256_update(s, SPAN_LITERAL("bc"));
    sha256_finish(s, out);
    assert_hex(out, sizeof out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    // RFC 4231, case 2
    hmac_sha256(SPAN_LITERAL("Jefe"), SPAN_LITERAL("what do ya want for nothing?"), out);
    assert_hex(out, sizeof out, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    // RFC 5869, cases 1 and 3
    memset(key, 0x0b, sizeof key);
    assert_true(hex_decode(SPAN_LITERAL("000102030405060708090a0b0c"), salt, sizeof salt));
    assert_true(hex_decode(SPAN_LITERAL("f0f1f2f3f4f5f6f7f8f9"), info, sizeof info));
    hkdf_sha256(span_of(key, sizeof key), span_of(salt, sizeof salt), span_of(info, sizeof info),
                okm, sizeof okm);
    assert_hex(
        okm, sizeof okm,
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
    hkdf_sha256(span_of(key, sizeof key), SPAN_NONE, SPAN_NONE, okm, sizeof okm);
    assert_hex(
        okm, sizeof okm,
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

static void comparison_tells_equal_from_different(void **state)
{
    (void)state;
    assert_true(equals_in_constant_time(SPAN_LITERAL("secret"), SPAN_LITERAL("secret")));
    assert_false(equals_in_constant_time(SPAN_LITERAL("secret"), SPAN_LITERAL("secreT")));
    assert_false(equals_in_constant_time(SPAN_LITERAL("secret"), SPAN_LITERAL("secre")));
    assert_true(equals_in_constant_time(SPAN_NONE, SPAN_LITERAL("")));
}

static struct keyring *open_ring(int64_t now_ms)
{
    struct keyring *r = NULL;
    struct failure why;
    if (keyring_open(ring_file, now_ms, &r, &why) != 0)
        fail_msg("%s", why.text);
    return r;
}

static void a_ring_is_made_once_and_kept_for_its_owner_alone(void **state)
{
    (void)state;
    struct stat st;
    struct keyring *r = open_ring(1000);
    assert_int_equal(stat(ring_file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    struct keyring *again = open_ring(2000);
    assert_int_equal(keyring_count(again), 1);
    assert_int_equal(keyring_id(again, 0), keyring_id(r, 0));
    assert_int_equal(keyring_created_ms(again, 0), 1000);
    keyring_free(r);
    keyring_free(again);
}

static void rotation_keeps_old_keys_up_to_their_age(void **state)
{
    (void)state;
    struct failure why;
    struct keyring *r = open_ring(1000);
    uint32_t first = keyring_id(r, 0);
    assert_int_equal(keyring_rotate(r, 2000, 500, &why), 0);
    assert_int_equal(keyring_count(r), 2);
    assert_int_equal(keyring_id(r, 1), first);
    assert_int_equal(keyring_rotate(r, 3000, 1500, &why), 0);
    assert_int_equal(keyring_count(r), 2);
    assert_int_equal(keyring_created_ms(r, 0), 3000);
    assert_int_equal(keyring_created_ms(r, 1), 2000);
    for (int i = 0; i < 40; i++)
        assert_int_equal(keyring_rotate(r, 4000 + i, 0, &why), 0);
    struct keyring *again = open_ring(0);
    assert_int_equal(keyring_count(again), KEYRING_MOST);
    for (size_t i = 0; i < KEYRING_MOST; i++)
        assert_int_equal(keyring_id(again, i), keyring_id(r, i));
    keyring_free(r);
    keyring_free(again);
}

static void write_ring(const char *text, mode_t mode)
{
    unlink(ring_file);
    int fd = open(ring_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void a_damaged_or_open_ring_is_refused_and_left_alone(void **state)
{
    (void)state;
#define KEY64 "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
    static const struct {
        const char *text;
        mode_t mode;
        int fault;
    } rows[] = {
        {"", 0600, FAULT_PARSE},
        {"00000001 5 " KEY64, 0600, FAULT_PARSE},
        {"00000001 5 0011\n", 0600, FAULT_PARSE},
        {"00000001 -5 " KEY64 "\n", 0600, FAULT_PARSE},
        {"00000001 5 " KEY64 "\n00000001 6 " KEY64 "\n", 0600, FAULT_PARSE},
        {"00000001 5 " KEY64 "\n\n", 0600, FAULT_PARSE},
        {"00000001 5 " KEY64 "\n", 0640, FAULT_DENIED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct keyring *r = NULL;
        struct failure why;
        char now[512] = "";
        write_ring(rows[i].text, rows[i].mode);
        assert_int_equal(keyring_open(ring_file, 1, &r, &why), rows[i].fault);
        assert_null(r);
        assert_non_null(strstr(why.text, ring_file));
        int fd = open(ring_file, O_RDONLY | O_CLOEXEC);
        assert_true(read(fd, now, sizeof now - 1) >= 0);
        close(fd);
        assert_string_equal(now, rows[i].text);
    }
}

static void what_was_sealed_opens_only_as_it_was_sealed(void **state)
{
    (void)state;
    struct keyring *r = open_ring(1);
    struct buffer text, plain;
    struct failure why;
    buffer_init(&text, 4096);
    buffer_init(&plain, 4096);
    assert_int_equal(seal(r, "session", SPAN_LITERAL("bob"), SPAN_LITERAL("payload"), &text), 0);
    assert_int_equal(buffer_size(&text), base64url_size(7 + SEAL_OVERHEAD));
    struct span t = buffer_span(&text);
    assert_int_equal(seal_open(r, "handle", SPAN_LITERAL("bob"), t, &plain), FAULT_NOT_FOUND);
    assert_int_equal(seal_open(r, "session", SPAN_LITERAL("eve"), t, &plain), FAULT_NOT_FOUND);
    for (size_t i = 0; i < t.size; i++) {
        text.data[text.start + i] ^= 1;
        assert_int_equal(seal_open(r, "session", SPAN_LITERAL("bob"), t, &plain), FAULT_NOT_FOUND);
        text.data[text.start + i] ^= 1;
        assert_int_equal(seal_open(r, "session", SPAN_LITERAL("bob"), span_of(t.data, i), &plain),
                         FAULT_NOT_FOUND);
    }
    assert_int_equal(buffer_size(&plain), 0);
    assert_int_equal(keyring_rotate(r, 2, 0, &why), 0);
    assert_int_equal(seal_open(r, "session", SPAN_LITERAL("bob"), t, &plain), 0);
    assert_true(span_is(buffer_span(&plain), "payload"));
    assert_int_equal(keyring_rotate(r, 4, 3, &why), 0);
    assert_int_equal(seal_open(r, "session", SPAN_LITERAL("bob"), t, &plain), FAULT_NOT_FOUND);
    buffer_fini(&text);
    buffer_fini(&plain);
    keyring_free(r);
}

static void sealing_is_bounded_and_never_gives_the_same_text_twice(void **state)
{
    (void)state;
    static char big[SEAL_PLAIN_MOST + 1];
    struct keyring *r = open_ring(1);
    struct buffer a, b;
    buffer_init(&a, 8192);
    buffer_init(&b, 8192);
    assert_int_equal(seal(r, "session", SPAN_NONE, span_of(big, sizeof big), &a), FAULT_TOO_LARGE);
    assert_int_equal(seal(r, "session", SPAN_NONE, span_of(big, SEAL_PLAIN_MOST), &a), 0);
    assert_int_equal(seal(r, "session", SPAN_NONE, span_of(big, SEAL_PLAIN_MOST), &b), 0);
    assert_int_equal(buffer_size(&a), SEAL_TEXT_MOST);
    assert_false(span_equals(buffer_span(&a), buffer_span(&b)));
    buffer_clear(&b);
    assert_int_equal(seal_open(r, "session", SPAN_NONE, buffer_span(&a), &b), 0);
    assert_int_equal(buffer_size(&b), SEAL_PLAIN_MOST);
    buffer_clear(&a);
    buffer_clear(&b);
    assert_int_equal(seal(r, "session", SPAN_NONE, SPAN_NONE, &a), 0);
    assert_int_equal(seal_open(r, "session", SPAN_NONE, buffer_span(&a), &b), 0);
    assert_int_equal(buffer_size(&b), 0);
    buffer_fini(&a);
    buffer_fini(&b);
    keyring_free(r);
}

static void derived_keys_depend_on_key_purpose_and_context(void **state)
{
    (void)state;
    unsigned char a[32], b[32];
    struct failure why;
    struct keyring *r = open_ring(1);
    uint32_t id = keyring_id(r, 0);
    assert_true(keyring_derive(r, id, "link", SPAN_LITERAL("x"), a, sizeof a));
    assert_true(keyring_derive(r, id, "link", SPAN_LITERAL("x"), b, sizeof b));
    assert_memory_equal(a, b, sizeof a);
    assert_true(keyring_derive(r, id, "link", SPAN_LITERAL("y"), b, sizeof b));
    assert_memory_not_equal(a, b, sizeof a);
    assert_true(keyring_derive(r, id, "lin", SPAN_LITERAL("kx"), b, sizeof b));
    assert_memory_not_equal(a, b, sizeof a);
    assert_int_equal(keyring_rotate(r, 2, 0, &why), 0);
    assert_true(keyring_derive(r, keyring_id(r, 0), "link", SPAN_LITERAL("x"), b, sizeof b));
    assert_memory_not_equal(a, b, sizeof a);
    assert_false(keyring_derive(r, id ^ keyring_id(r, 0) ^ 1, "link", SPAN_LITERAL("x"), b, 32));
    keyring_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_agree_with_the_published_vectors),
        cmocka_unit_test(comparison_tells_equal_from_different),
        cmocka_unit_test_teardown(a_ring_is_made_once_and_kept_for_its_owner_alone, remove_ring),
        cmocka_unit_test_teardown(rotation_keeps_old_keys_up_to_their_age, remove_ring),
        cmocka_unit_test_teardown(a_damaged_or_open_ring_is_refused_and_left_alone, remove_ring),
        cmocka_unit_test_teardown(what_was_sealed_opens_only_as_it_was_sealed, remove_ring),
        cmocka_unit_test_teardown(sealing_is_bounded_and_never_gives_the_same_text_twice,
                                  remove_ring),
        cmocka_unit_test_teardown(derived_keys_depend_on_key_purpose_and_context, remove_ring),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
