// Package coderun runs programs that a language model wrote, to see whether they pass their
// tests, as the accuracy script of mixtral-8x7b does for MBXP.
//
//	r := coderun.New(coderun.Limits{})
//	defer fmt.Println(r.Isolation())
//	passed, err := r.Run(ctx, coderun.Program{Language: "python", Code: "assert 1 + 1 == 2"})
//
// A program passes if it ends with status 0 in time. It has a folder of its own that is gone
// afterwards, an environment without the user's, no input but what it is given, and bounds on time, memory, the
// size of files and their number. What it has begun ends with it. On Linux it also has no network, and cannot reach
// other processes, where the system lets a user ask for that, and since Linux 5.14 no more than 1024 of its own, threads included; Isolation
// says what it was.
//
// What it is not: a wall around the user's files. A program can read what the user can, and
// write there; in /proc it sees which processes there are, and their command lines. The number of processes of the superuser is not
// bounded: a program that begins others without end is only ended with its time. Nothing here runs unless the user asks for it, and who runs programs of a
// model that is not trusted does so in a container or another machine.
package coderun
