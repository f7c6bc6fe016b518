#ifndef SLUICE_EXIT_GATE_H
#define SLUICE_EXIT_GATE_H

#if !defined(__APPLE__)

#include <stdbool.h>

/// Keeps threads out of libcurl while the process exits: its TLS library frees memory that they would still use.

/// Call it once, after libcurl was initialized: exit handlers run in reverse order.
void sluice_exit_gate_install(void);

/// Never returns once the process exits.
void sluice_exit_gate_enter(void);
/// Like `sluice_exit_gate_enter`, or returns false once the process exits.
bool sluice_exit_gate_try(void);
void sluice_exit_gate_leave(void);

#endif

#endif
