// Package metrics reads what servers say of themselves: running and waiting requests, the use of the key-value cache, preemptions,
// and of GPUs what DCGM's exporter tells. It asks for the Prometheus text of an address once a second.
//
//	w, err := metrics.Watch(ctx, metrics.Config{URLs: []string{"http://127.0.0.1:8000/metrics"}})
//	defer w.Close()
//	gauges := w.Gauges()
//
// families.go says what the names of each server mean, text.go reads the form of Prometheus, watch.go asks. Numbers of servers are
// theirs: nothing is judged by them.
package metrics
