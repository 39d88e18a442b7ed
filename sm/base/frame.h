/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_FRAME_H
#define BASE_FRAME_H

/*
 * The control protocol's framing, shared by daemon and clients.
 *
 * A stream socket; every message is one line of UTF-8 JSON ended by '\n'.
 * The daemon speaks first: {"weft":1,"version":"0.1.0"}                        (protocol number 1)
 * Request:  {"command":"show ports","subnet":null,"args":{"filter":"/^gpu/"}}
 * Answer:   {"ok":true,"data":{...}}   or
 *           {"ok":false,"error":"one sentence","code":1,"reason":"not found"}
 *           `code` is the exit status that the client should end with (1 refused or not found,
 *           2 usage, 4 timed out); `reason` is for programs: "invalid" (the request is wrong),
 *           "denied" (this client may not), "not found", "exists", "full", "busy" (it may be done
 *           later, or by another subnet manager), "timeout", "refused", or another word of
 *           error_name().
 * A client has one request outstanding at a time; it may send the next after the answer.
 */
#define FRAME_PROTOCOL 1
#define FRAME_MAX_REQUEST 65536		/* bytes of a request line; longer closes the connection */
#define FRAME_DEFAULT_SOCKET "/run/weft/weft.sock"
#define FRAME_SOCKET_ENV "WEFT_SOCKET"

#endif
