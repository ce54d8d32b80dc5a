// Package simulated is an inference engine that computes nothing: a run takes as long as
// it is told to, and its answers follow from its inputs. Tests, demonstrations and
// rehearsals of a test set-up use it, and a new engine can be started from it.
//
//	engine, err := simulated.New(simulated.Config{
//		Latency: 5 * time.Millisecond, PerSample: time.Millisecond, Jitter: 200 * time.Microsecond,
//		Inputs:  []backend.Port{{Name: "image", Type: tensor.Float32, Shape: tensor.Shape{-1, 3, 224, 224}}},
//		Outputs: []backend.Port{{Name: "class", Type: tensor.Int64, Shape: tensor.Shape{-1}}},
//	})
//
// A run of a batch of n takes Latency + (n-1)·PerSample, plus noise. What happens in the
// k-th run of an engine is settled by the seed, whoever makes it. Failures come on
// request: every n-th run fails, answers NaN, or takes longer; opening is slow or fails.
//
// Time is only spent in time.Sleep, so all of it works in the fake time of
// testing/synctest. Outside of it a sleep ends up to a millisecond late, as Go's timers do.
package simulated
