// Package tune searches the fastest way to run a model on this machine: how many workers,
// how many threads each, how large batches get, how long a sample waits for a batch to
// fill, and which of several files of the model.
//
//	outcome, err := tune.Find(ctx, tune.Request{Run: request, Budget: 5 * time.Minute}, observer, observer)
//
// A Point is one way to run the model (point.go). A search decides which point to measure next,
// for how long, and when to stop; it is arithmetic over the measurements so far, without a clock (search.go).
// Measurements come in three stages (measure.go): the first one times batches with all workers busy and
// estimates the scenario's result from that. The points with good estimates are then measured under the
// scenario's own traffic, and the best of them again and longer. Only measurements of the same stage are compared.
// Find writes the winner to a profile (tune.go).
//
// Left out: accuracy. A point that uses another model file may be faster and wrong.
package tune
