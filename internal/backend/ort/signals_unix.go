//go:build cgo && unix

package ort

/*
#include <signal.h>
#include <string.h>

// The handlers of all ordinary signals (1 to 31), and the stack that this thread handles them on.
typedef struct { struct sigaction action[32]; stack_t stack; } handlers;

static void save_handlers(handlers *h) {
	memset(h, 0, sizeof *h);
	sigaltstack(NULL, &h->stack);
	for (int s = 1; s < 32; s++) sigaction(s, NULL, &h->action[s]);
}

static int is_function(const struct sigaction *a) {
	return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN;
}

// Puts back what was replaced, and returns how many. A handler that came where there was none
// stays, but runs on the alternate stack, as Go demands of every handler.
static int restore_handlers(const handlers *h) {
	int changed = 0;
	stack_t stack;
	if (sigaltstack(NULL, &stack) == 0 && stack.ss_sp != h->stack.ss_sp) sigaltstack(&h->stack, NULL);
	for (int s = 1; s < 32; s++) {
		struct sigaction now;
		const struct sigaction *then = &h->action[s];
		if (sigaction(s, NULL, &now) != 0 || !is_function(&now)) continue;
		if (is_function(then)) {
			if (now.sa_handler == then->sa_handler && now.sa_flags == then->sa_flags) continue;
			now = *then;
		} else if (now.sa_flags & SA_ONSTACK) {
			continue;
		} else {
			now.sa_flags |= SA_ONSTACK;
		}
		if (sigaction(s, &now, NULL) == 0) changed++;
	}
	return changed;
}
*/
import "C"

import "github.com/mlperf-go/mlperf/internal/machine/priority"

// keepSignals calls f, and afterwards gives back to Go the signal handlers that f replaced.
//
// CUDA's libraries install handlers of their own, for SIGINT among others, and without the flag
// SA_ONSTACK: the next Ctrl-C would then end the program with "non-Go code set up signal handler
// without SA_ONSTACK flag" (https://github.com/yalue/onnxruntime_go/issues/140). They do so when they
// are first used, which is when a session is made or in one of its first runs. signal.Notify does
// not help: Go installs its handler once, and later calls only note who wants to know.
//
// OpenVINO's plug-in for processors with AMX gives its thread another stack for signals, and frees it when the plug-in is
// unloaded, perhaps by another thread: the next signal, with which Go interrupts its goroutines, would end the program. So the
// thread gets its own stack back as well.
//
// It returns how many handlers were put back. As libraries start threads in these calls, f computes (see package priority).
func keepSignals(f func()) int {
	computing := priority.Compute(threadName)
	defer computing.End()
	var h C.handlers
	C.save_handlers(&h)
	f()
	return int(C.restore_handlers(&h))
}
