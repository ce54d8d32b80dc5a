// Package simulated is an inference engine that computes nothing: a run takes a set time, and its answers follow
// from its inputs. Tests, demonstrations and rehearsals of a test set-up use it.
//
//	engine, err := simulated.New(simulated.Config{
//		Latency: 5 * time.Millisecond, PerSample: time.Millisecond, Jitter: 200 * time.Microsecond,
//		Inputs:  []backend.Port{{Name: "image", Type: tensor.Float32, Shape: tensor.Shape{-1, 3, 224, 224}}},
//		Outputs: []backend.Port{{Name: "class", Type: tensor.Int64, Shape: tensor.Shape{-1}}},
//	})
//
// A run of n samples takes Latency + (n-1)·PerSample, plus noise that the seed and the number of the run decide. On
// request every n-th run fails, answers NaN or takes longer, and opening is slow or fails. simulated.go is the
// engine, session.go its runs, and echo.go the answers of an engine that has none of its own.
//
// Time is only spent in timers, so that all of it works in the fake time of testing/synctest.
package simulated
