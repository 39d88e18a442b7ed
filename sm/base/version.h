/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define WEFT_VERSION "0.1.0"

#endif
