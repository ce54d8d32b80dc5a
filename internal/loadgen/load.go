package loadgen

import (
	"context"
	"errors"
	"fmt"
)

// withLoaded calls f while the samples of a set are in memory.
func (t *test) withLoaded(ctx context.Context, set loadableSet, f func() error) error {
	t.events.add(Event{Key: "loaded_qsl_set", Value: set.indices})
	switch err := t.guardQSL(func() error { return t.qsl.LoadSamplesToRAM(ctx, set.indices) }); {
	case errors.Is(err, errOver):
		return err
	case err != nil && ctx.Err() != nil:
		return t.interrupted(ctx)
	case err != nil:
		return fmt.Errorf("loading %d samples: %w", len(set.indices), err)
	}
	err := f()
	if e := t.guardQSL(func() error { return t.qsl.UnloadSamplesFromRAM(set.indices) }); e != nil && !errors.Is(e, errOver) {
		t.events.warn("unloading %d samples: %v", len(set.indices), e) // what was measured stays measured
	}
	return err
}

// guardQSL turns a panic of the QSL into a fault, which ends the test with a result.
func (t *test) guardQSL(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			t.faults.add(faultPanic, "the QSL panicked: %v", v)
			err = errOver
		}
	}()
	return f()
}
