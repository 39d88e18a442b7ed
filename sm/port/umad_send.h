/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PORT_UMAD_SEND_H
#define PORT_UMAD_SEND_H

#include "sm/port/port.h"

/*
 * Sending through an umad descriptor: at once, and long messages on a thread of their own.
 */

/* With `room` for the umad header and the bytes. 0 or an errno. */
int
umad_send_now(int fd, int agent, void *room, const struct port_mad *m);

/* Long messages that one descriptor is to send. */
struct umad_sender;

#define UMAD_SENDER_MAX PORT_LEN_MAX	/* bytes that wait, beside one message */

/* The thread begins with the first message. told(arg) is called by it when one could not be sent:
 * umad_sender_failed() has it. */
struct umad_sender *
umad_sender_new(int fd, loop_fn told, void *arg);
/* Waits for the message that is being sent; the others are dropped. NULL is allowed. */
void
umad_sender_free(struct umad_sender *s);
/* Queue a message that port_mad_ok() allows; what holds it is taken, or a copy made. 0, or ERR_BUSY
 * when too much waits, or there is no thread: then nothing is taken. */
int
umad_sender_put(struct umad_sender *s, int agent, const struct port_mad *m);
bool
umad_sender_any_failed(struct umad_sender *s);
/* The next message that could not be sent: its first MAD is in `m`, without data; false: none. */
bool
umad_sender_failed(struct umad_sender *s, struct port_mad *m, int *err);

#endif
