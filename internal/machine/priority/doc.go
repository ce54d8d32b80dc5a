// Package priority has all threads of the program run before those of other programs while queries are issued on schedule, and
// leaves those that compute alone.
//
// To raise the issue thread alone does not suffice. Every 10 ms Go's scheduler takes the processor from a goroutine that runs, and
// one that is tied to its thread gets it back from another thread of the program: milliseconds later, if that is an ordinary
// thread and all cores compute.
//
// A thread that computes for the system under test must stay an ordinary one, or it would take the cores from the issue thread
// and from everything else. Its name tells it apart: a thread inherits the name of the thread that starts it, so what an
// engine starts between Compute and End has the engine's name.
//
// Without a schedule, as in SingleStream and Offline, only the engine's threads decide how long a query takes. The thread
// of Go's runtime that watches goroutines wakes up every 20 µs and would interrupt them: MobileNet 20 times in 7 ms, which made
// its 90th percentile a fifth longer than its median, and a decoder in Offline 8 % slower. LowerMonitor has it wait.
//
//	restore := priority.Raise() // the load generator, for the length of its traffic
//	defer restore()
//
//	c := priority.Compute("onnxruntime") // an engine, for each call of its library
//	defer c.End()
package priority
