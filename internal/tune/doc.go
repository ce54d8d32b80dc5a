// Package tune searches the fastest way to run a model on this machine: how many workers,
// how many threads each, how large batches get, how long a sample waits for a batch to
// fill, and which of several files of the model.
//
// A Point is one such way. A Search decides which point to measure next, for how long, and
// when to stop; it is pure arithmetic over the Measurements so far, so that a search goes
// on where it was interrupted. A Journal keeps every measurement, and a Profile the winner.
//
//	outcome, err := tune.Run(ctx, tune.Config{Settings: settings, Budget: 5 * time.Minute, Open: open, …})
//	err = outcome.Profile(…).Write(path)
//
// Measurements come in three stages (measure.go). The first one times batches with all
// workers busy, and computes what the scenario would make of that. The points that come out
// well are then measured under the scenario's own traffic, and the best of them once more
// and longer. Only measurements of the same stage are compared.
//
// Left out: accuracy. A point that uses another model file may be faster and wrong.
package tune
