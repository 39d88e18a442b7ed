/* SPDX-License-Identifier: BSD-2-Clause */
#include "gateway/stream.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "sm/base/loop.h"

/*
 * Streams. OpenSSL does the handshake by itself with the first read. Its errors are a queue of the
 * thread, which is emptied before each call, so that nobody is told of another's.
 */
static int
tls_error(struct error *e, const char *what, const char *file)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = code ? ERR_reason_error_string(code) : NULL;

	error_set(e, ERR_INVALID, "%s %s cannot be used: %s", what, file,
		  reason ? reason : "the reason is not known");
	ERR_clear_error();
	return e->code;
}

static int
take_files(SSL_CTX *tls, const char *cert, const char *key, struct error *e)
{
	ERR_clear_error();
	if (SSL_CTX_use_certificate_chain_file(tls, cert) != 1)
		return tls_error(e, "the certificate", cert);
	if (SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1)
		return tls_error(e, "the key", key);
	if (SSL_CTX_check_private_key(tls) != 1)
		return tls_error(e, "the key", key);
	return 0;
}

/* Without a terminal nobody can be asked for the passphrase of a key. */
static int
no_passphrase(char *buf, int size, int writing, void *arg)
{
	(void)buf;
	(void)size;
	(void)writing;
	(void)arg;
	return -1;
}

SSL_CTX *
tls_new(const char *cert, const char *key, struct error *e)
{
	SSL_CTX *tls = SSL_CTX_new(TLS_server_method());

	if (!tls) {
		error_set(e, ERR_NOMEM, "there is no memory for TLS");
		return NULL;
	}
	SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
	SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
			    SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS |
			 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_default_passwd_cb(tls, no_passphrase);
	/* Sessions are resumed by tickets alone: no table of them grows. */
	SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
	if (take_files(tls, cert, key, e)) {
		SSL_CTX_free(tls);
		return NULL;
	}
	return tls;
}

void
tls_free(SSL_CTX *tls)
{
	SSL_CTX_free(tls);
}

bool
stream_open(struct stream *s, int fd, SSL_CTX *tls)
{
	*s = (struct stream){ .fd = fd };
	if (!tls)
		return true;
	s->ssl = SSL_new(tls);
	if (s->ssl && SSL_set_fd(s->ssl, fd) == 1) {
		SSL_set_accept_state(s->ssl);
		return true;
	}
	stream_close(s);
	return false;
}

static int
tls_outcome(struct stream *s, int rc)
{
	switch (SSL_get_error(s->ssl, rc)) {
	case SSL_ERROR_WANT_READ:
		s->wanted = LOOP_READ;
		return STREAM_LATER;
	case SSL_ERROR_WANT_WRITE:
		s->wanted = LOOP_WRITE;
		return STREAM_LATER;
	default:
		/* After an error of its own OpenSSL must not be asked to say good-bye. */
		SSL_set_quiet_shutdown(s->ssl, 1);
		return STREAM_ENDED;
	}
}

static int
plain_outcome(struct stream *s, unsigned wanted)
{
	s->wanted = wanted;
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? STREAM_LATER :
	       STREAM_ENDED;
}

int
stream_read(struct stream *s, void *data, size_t size)
{
	int n;

	if (s->ssl) {
		ERR_clear_error();
		n = SSL_read(s->ssl, data, size > INT_MAX ? INT_MAX : (int)size);
		return n > 0 ? n : tls_outcome(s, n);
	}
	n = (int)recv(s->fd, data, size > INT_MAX ? INT_MAX : size, MSG_DONTWAIT);
	return n > 0 ? n : n == 0 ? STREAM_ENDED : plain_outcome(s, LOOP_READ);
}

int
stream_write(struct stream *s, const void *data, size_t len)
{
	int n;

	if (s->ssl) {
		ERR_clear_error();
		n = SSL_write(s->ssl, data, len > INT_MAX ? INT_MAX : (int)len);
		return n > 0 ? n : tls_outcome(s, n);
	}
	n = (int)send(s->fd, data, len > INT_MAX ? INT_MAX : len, MSG_DONTWAIT | MSG_NOSIGNAL);
	return n > 0 ? n : plain_outcome(s, LOOP_WRITE);
}

void
stream_finish(struct stream *s)
{
	if (s->ssl && SSL_is_init_finished(s->ssl)) {
		ERR_clear_error();
		SSL_shutdown(s->ssl);
	}
	shutdown(s->fd, SHUT_WR);
}

void
stream_close(struct stream *s)
{
	SSL_free(s->ssl);
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct stream){ .fd = -1 };
}
