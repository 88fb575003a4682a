// SPDX-License-Identifier: Apache-2.0
#include "gateway/store/redis_scripts.h"

#define START "local p = KEYS[1]\n"
#define NOW                                                                                        \
    "local now = tonumber(ARGV[1])\n"                                                              \
    "if not now then\n"                                                                            \
    "  local t = redis.call('TIME')\n"                                                             \
    "  now = t[1] * 1000 + math.floor(t[2] / 1000)\n"                                              \
    "end\n"                                                                                        \
    "local function text(n) return string.format('%.0f', n) end\n"

// ARGV: a new epoch. Answers the epoch, whether it is new, and the time.
static const char hello[] = START NOW "local epoch = redis.call('GET', p .. 'epoch')\n"
                                      "local is_new = not epoch\n"
                                      "if is_new then\n"
                                      "  epoch = ARGV[2]\n"
                                      "  redis.call('SET', p .. 'epoch', epoch)\n"
                                      "end\n"
                                      "return {epoch, is_new and 1 or 0, text(now)}\n";

// ARGV: id, line, life of the backstop.
static const char sandbox_put[] =
    START "redis.call('SET', p .. 'sandbox:' .. ARGV[2], ARGV[3], 'PX', ARGV[4])\n"
          "redis.call('ZADD', p .. 'sandboxes', 0, ARGV[2])\n"
          "return 1\n";

// ARGV: id. `where:` says which pools and buckets have it, so nothing is searched.
static const char sandbox_delete[] =
    START "local id = ARGV[2]\n"
          "for _, place in ipairs(redis.call('SMEMBERS', p .. 'where:' .. id)) do\n"
          "  if place:sub(1, 5) == 'warm:' then\n"
          "    redis.call('ZREM', p .. place, id)\n"
          "  elseif place ~= 'bound' then\n"
          "    redis.call('SREM', p .. place, id)\n"
          "  end\n"
          "end\n"
          "local claim = redis.call('GET', p .. 'taken:' .. id)\n"
          "if claim then redis.call('DEL', p .. 'claim:' .. claim) end\n"
          "redis.call('DEL', p .. 'where:' .. id, p .. 'taken:' .. id, p .. 'sandbox:' .. id)\n"
          "redis.call('ZREM', p .. 'sandboxes', id)\n"
          "redis.call('ZREM', p .. 'due:idle', id)\n"
          "redis.call('ZREM', p .. 'due:absolute', id)\n"
          "return 1\n";

// ARGV: the id after which to begin, how many. Answers the last id seen ("" at the end), then
// lines; an id without a record leaves the index.
static const char sandbox_list[] = START
    "local from = ARGV[2] == '' and '-' or '(' .. ARGV[2]\n"
    "local ids = redis.call('ZRANGEBYLEX', p .. 'sandboxes', from, '+', 'LIMIT', 0, ARGV[3])\n"
    "local out = {#ids == tonumber(ARGV[3]) and ids[#ids] or ''}\n"
    "for _, id in ipairs(ids) do\n"
    "  local line = redis.call('GET', p .. 'sandbox:' .. id)\n"
    "  if line then\n"
    "    out[#out + 1] = line\n"
    "  else\n"
    "    redis.call('ZREM', p .. 'sandboxes', id)\n"
    "  end\n"
    "end\n"
    "return out\n";

// ARGV: key, line, life of the backstop.
static const char binding_put[] =
    START "if tonumber(ARGV[4]) > 0 then\n"
          "  redis.call('SET', p .. 'binding:' .. ARGV[2], ARGV[3], 'PX', ARGV[4])\n"
          "else\n"
          "  redis.call('DEL', p .. 'binding:' .. ARGV[2])\n"
          "end\n"
          "return 1\n";

// ARGV: key, line, life of the backstop, sandbox. Answers the line that stands there where that is
// bound to another sandbox or ended for good. Fields: record.c.
static const char binding_claim[] =
    START NOW "local key = p .. 'binding:' .. ARGV[2]\n"
              "local line = redis.call('GET', key)\n"
              "if line and tonumber(line:match('%d+$')) > now then\n"
              "  local state, sandbox = line:match('^%S+ %S+ %S+ (%S+) (%S+)')\n"
              "  if state == 'ended' or state == 'bound' and sandbox ~= ARGV[5] then\n"
              "    return line\n"
              "  end\n"
              "end\n"
              "redis.call('SET', key, ARGV[3], 'PX', math.max(1, tonumber(ARGV[4])))\n"
              "return 1\n";

// ARGV: key. The line ends with the time until which it counts.
static const char binding_get[] =
    START NOW "local line = redis.call('GET', p .. 'binding:' .. ARGV[2])\n"
              "if not line or tonumber(line:match('%d+$')) <= now then return false end\n"
              "return line\n";

// ARGV: pool, id. One that is bound, or was claimed lately, stays out, whoever thinks that it is
// warm. One whose claimer never came back leaves that one's quotas and is warm again.
static const char warm_put[] =
    START "local id, place = ARGV[3], 'warm:' .. ARGV[2]\n"
          "local where = p .. 'where:' .. id\n"
          "if redis.call('EXISTS', p .. 'taken:' .. id) == 1 or\n"
          "   redis.call('SISMEMBER', where, 'bound') == 1 or\n"
          "   redis.call('ZSCORE', p .. place, id) then\n"
          "  return 0\n"
          "end\n"
          "for _, other in ipairs(redis.call('SMEMBERS', where)) do\n"
          "  if other:sub(1, 6) == 'quota:' then\n"
          "    redis.call('SREM', p .. other, id)\n"
          "    redis.call('SREM', where, other)\n"
          "  end\n"
          "end\n"
          "redis.call('ZADD', p .. place, redis.call('INCR', p .. 'sequence'), id)\n"
          "redis.call('SADD', where, place)\n"
          "return 1\n";

// ARGV: pool, id.
static const char warm_remove[] = START "local place = 'warm:' .. ARGV[2]\n"
                                        "redis.call('ZREM', p .. place, ARGV[3])\n"
                                        "redis.call('SREM', p .. 'where:' .. ARGV[3], place)\n"
                                        "return 1\n";

// ARGV: pool, the claim's own name, then buckets, their limits and how many a minute (0: any).
// Answers {1, id}, {0} for an empty pool, {2, bucket, limit} where that is full, {3, bucket, ms}
// where it may claim again after so long. What needs memory comes first: a script that fails has
// changed what it did so far.
static const char claim[] = START NOW
    "local place, name = 'warm:' .. ARGV[2], p .. 'claim:' .. ARGV[3]\n"
    "local id = redis.call('ZRANGE', p .. place, 0, 0)[1]\n"
    "if not id or redis.call('EXISTS', name) == 1 then return {0} end\n"
    "local paces = {}\n"
    "for i = 4, #ARGV, 3 do\n"
    "  local limit, rate = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])\n"
    "  if limit > 0 and redis.call('SCARD', p .. 'quota:' .. ARGV[i]) >= limit then\n"
    "    return {2, ARGV[i], ARGV[i + 1]}\n"
    "  end\n"
    "  if rate > 0 then\n"
    "    local full = math.max(now, tonumber(redis.call('GET', p .. 'pace:' .. ARGV[i]) or '0'))\n"
    "    local next = full + 60000 / rate\n"
    "    if next - now > 60000 then return {3, ARGV[i], text(math.ceil(next - now - 60000))} end\n"
    "    paces[ARGV[i]] = next\n"
    "  end\n"
    "end\n"
    "for bucket, next in pairs(paces) do\n"
    "  redis.call('SET', p .. 'pace:' .. bucket, text(next), 'PX', text(next - now + 1))\n"
    "end\n"
    "redis.call('SET', name, id, 'PX', 30000)\n"
    "redis.call('SET', p .. 'taken:' .. id, ARGV[3], 'PX', 30000)\n"
    "for i = 4, #ARGV, 3 do\n"
    "  redis.call('SADD', p .. 'quota:' .. ARGV[i], id)\n"
    "  redis.call('SADD', p .. 'where:' .. id, 'quota:' .. ARGV[i])\n"
    "end\n"
    "redis.call('ZREM', p .. place, id)\n"
    "redis.call('SREM', p .. 'where:' .. id, place)\n"
    "return {1, id}\n";

// ARGV: pool, the name of a claim whose answer did not come. What it took is warm again; where it
// is still on its way it finds its name used.
static const char unclaim[] =
    START "local place, name = 'warm:' .. ARGV[2], p .. 'claim:' .. ARGV[3]\n"
          "local id = redis.call('GET', name)\n"
          "redis.call('SET', name, '', 'PX', 600000)\n"
          "if not id or redis.call('GET', p .. 'taken:' .. id) ~= ARGV[3] then return 0 end\n"
          "local where = p .. 'where:' .. id\n"
          "redis.call('DEL', p .. 'taken:' .. id)\n"
          "if redis.call('SISMEMBER', where, 'bound') == 1 then return 0 end\n"
          "for _, other in ipairs(redis.call('SMEMBERS', where)) do\n"
          "  redis.call(other:sub(1, 5) == 'warm:' and 'ZREM' or 'SREM', p .. other, id)\n"
          "  redis.call('SREM', where, other)\n"
          "end\n"
          "if redis.call('EXISTS', p .. 'sandbox:' .. id) == 1 then\n"
          "  redis.call('ZADD', p .. place, redis.call('INCR', p .. 'sequence'), id)\n"
          "  redis.call('SADD', where, place)\n"
          "end\n"
          "return 1\n";

// ARGV: id, then buckets. It leaves others, of a claim that came second.
static const char quota_add[] =
    START "local where, mine = p .. 'where:' .. ARGV[2], {}\n"
          "redis.call('SADD', where, 'bound')\n"
          "local claim = redis.call('GET', p .. 'taken:' .. ARGV[2])\n"
          "if claim then\n"
          "  redis.call('DEL', p .. 'taken:' .. ARGV[2], p .. 'claim:' .. claim)\n"
          "end\n"
          "for i = 3, #ARGV do\n"
          "  mine['quota:' .. ARGV[i]] = true\n"
          "  redis.call('SADD', p .. 'quota:' .. ARGV[i], ARGV[2])\n"
          "  redis.call('SADD', where, 'quota:' .. ARGV[i])\n"
          "end\n"
          "for _, other in ipairs(redis.call('SMEMBERS', where)) do\n"
          "  if other:sub(1, 6) == 'quota:' and not mine[other] then\n"
          "    redis.call('SREM', p .. other, ARGV[2])\n"
          "    redis.call('SREM', where, other)\n"
          "  end\n"
          "end\n"
          "return 1\n";

// ARGV: kind, name, time (0: none).
static const char deadline_set[] =
    START "if ARGV[4] == '0' then\n"
          "  redis.call('ZREM', p .. 'due:' .. ARGV[2], ARGV[3])\n"
          "else\n"
          "  redis.call('ZADD', p .. 'due:' .. ARGV[2], ARGV[4], ARGV[3])\n"
          "end\n"
          "return 1\n";

// ARGV: kind, how long to put off, how many. Answers names.
static const char deadline_take[] = START NOW
    "local key = p .. 'due:' .. ARGV[2]\n"
    "local names = redis.call('ZRANGEBYSCORE', key, '-inf', text(now), 'LIMIT', 0, ARGV[4])\n"
    "for _, name in ipairs(names) do\n"
    "  redis.call('ZADD', key, text(now + tonumber(ARGV[3])), name)\n"
    "end\n"
    "return names\n";

// ARGV: name, holder, life. Answers the token, or nothing where another holds it.
static const char lease_take[] =
    START NOW "local key = p .. 'lease:' .. ARGV[2]\n"
              "local held = redis.call('HMGET', key, 'holder', 'token', 'until')\n"
              "local lives = held[3] and tonumber(held[3]) > now\n"
              "if lives and held[1] ~= ARGV[3] then return false end\n"
              "local token = held[2]\n"
              "if not lives then\n"
              "  local last = tonumber(redis.call('GET', p .. 'token') or '0')\n"
              "  token = text(math.max(now, last + 1))\n"
              "  redis.call('SET', p .. 'token', token)\n"
              "end\n"
              "redis.call('HSET', key, 'holder', ARGV[3], 'token', token, 'until',\n"
              "           text(now + tonumber(ARGV[4])))\n"
              "redis.call('PEXPIRE', key, tonumber(ARGV[4]) + 86400000)\n"
              "return token\n";

// ARGV: name, holder.
static const char lease_release[] =
    START "local key = p .. 'lease:' .. ARGV[2]\n"
          "if redis.call('HGET', key, 'holder') == ARGV[3] then redis.call('DEL', key) end\n"
          "return 1\n";

void store_scripts_init(struct redis_script scripts[SCRIPT_COUNT])
{
#define X(constant, script)                                                                        \
    scripts[SCRIPT_##constant] = (struct redis_script){.name = #script, .text = script};
    STORE_SCRIPT_TABLE(X)
#undef X
}
