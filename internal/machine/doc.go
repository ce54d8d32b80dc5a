// Package machine describes this machine: in results, so that others can
// repeat a run, and for doctor, which names the causes of a slow or uneven one.
//
//	m := machine.Describe("")
//	fmt.Println(m.CPU.Model, m.CPU.Usable, m.CPU.Features)
//	timers, err := machine.ProbeTimers(ctx)  // takes about 0.4 s
//
// Describe (machine.go, cpu.go, gpu.go, supply.go) is for every result, TakeInventory (inventory.go) for system descriptions,
// Conditions and Gauges (conditions.go, gauges.go) are read before, during and after a run, and process_*.go is about this process.
//
// Unknown values stay zero, which JSON leaves out: a result without
// a GPU's name is better than no result. Nothing is changed, and no program but nvidia-smi is called.
//
// Left out: host and user names, addresses and serial numbers, which do not belong in a
// published result.
package machine
