// Package machine finds out what this machine is, for results, so that somebody else can
// repeat a run, and for doctor, which says what stands in the way of a good one.
//
//	m := machine.Describe()
//	fmt.Println(m.CPU.Model, m.CPU.Usable, m.CPU.Features)
//	timers, err := machine.ProbeTimers(ctx)  // takes about 0.4 s
//
// What cannot be found out stays at its zero value, which JSON leaves out: a result without
// a GPU's name is better than no result. Nothing is changed, and no program is called.
//
// Left out: host and user names, addresses and serial numbers, which do not belong in a
// published result.
package machine
