// SPDX-License-Identifier: Apache-2.0
//
// What both versions need to write a response head.
#ifndef WRIST_GATEWAY_LIB_HTTP_RESPONSE_H
#define WRIST_GATEWAY_LIB_HTTP_RESPONSE_H

#include "gateway/lib/http/exchange.h"

struct span response_reason(int status); // "Not Found"; "Status" where it has no name here
bool response_may_have_body(int status);
// False for headers that are the server's business (hop-by-hop, content-length, date) and for those
// whose bytes would end the line.
bool response_header_goes_out(const struct http_header *header);
// Bytes of a request or response head that can be smuggled nowhere: no CR, LF, NUL.
bool response_value_is_safe(struct span value);

#endif
