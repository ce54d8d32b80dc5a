// Package coderun runs programs that a language model wrote, to see whether they pass their
// tests, as the accuracy script of mixtral-8x7b does for MBXP.
//
//	r, err := coderun.New(false)
//	defer fmt.Println(r.Isolation())
//	passed, err := r.Run(ctx, coderun.Program{Language: "python", Code: "assert 1 + 1 == 2"})
//
// A program passes if it ends with status 0 in time. It has a temporary folder of its own, an environment without the
// user's variables, no input but the given one, and limits on time, memory, file size and open files. Its child processes
// end with it. Where Linux lets a user create namespaces, it also has no network and a host name of its own, reaches no other
// processes, and since Linux 5.14 it has at most 1024 processes and threads; Isolation says which of these hold. Where the
// superuser calls, programs run as user 65534, every file system is read-only for them, /proc/sys and /sys too, and their
// folder is in memory, with 256 MiB. Where that is impossible, the superuser has to ask for less.
//
// It does not protect the files of other users: a program can read and write as the user can, and sees the command lines of all
// processes in /proc. So programs run only if the user asks for it, and those of an untrusted model belong in a container or on
// another machine.
//
// The files: run.go runs a program; isolation_*.go has what depends on the system.
package coderun
