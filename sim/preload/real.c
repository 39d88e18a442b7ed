/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looking up what our functions stand in front of. Each name is looked up when it is first called,
 * for programs and other libraries may call before our constructor could run; two threads that do
 * it at once store the same pointer.
 */
#include "sim/preload/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

static const char *const names[] = {
#define X(name) [REAL_##name] = #name,
	REAL_NAMES(X)
#undef X
};

static _Atomic(void *) functions[REAL_COUNT];

/* Every one of the functions returns an int, a length or a pointer; see real_function(). */
static long
not_there(void)
{
	errno = ENOSYS;
	return -1;
}

static void *
not_there_pointer(void)
{
	errno = ENOSYS;
	return NULL;
}

static void *
stand_in(enum real_name name)
{
	switch (name) {
	case REAL_fopen:
	case REAL_fopen64:
	case REAL_freopen:
	case REAL_freopen64:
	case REAL_opendir:
	case REAL_realpath:
	case REAL_canonicalize_file_name:
	case REAL___realpath_chk:
		return (void *)not_there_pointer;
	default:
		return (void *)not_there;
	}
}

void *
real_function(enum real_name name)
{
	void *f = atomic_load_explicit(&functions[name], memory_order_acquire);

	if (f)
		return f;
	f = dlsym(RTLD_NEXT, names[name]);
	if (!f)
		f = stand_in(name);
	atomic_store_explicit(&functions[name], f, memory_order_release);
	return f;
}
