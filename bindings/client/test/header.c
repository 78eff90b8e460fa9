/* SPDX-License-Identifier: Apache-2.0
 * The header is C99 by itself. */
#include "weir_client.h"

extern int client_c99;
int client_c99 = (int)(sizeof(weir_connection) + sizeof(weir_fragment) + sizeof(weir_trigger));
