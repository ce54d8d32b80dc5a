package download

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// An interrupter is an Observer that ends a download in a phase.
type interrupter struct {
	silence
	at     string // beginning of the phase's name
	cancel context.CancelCauseFunc
	met    bool
}

// Phase implements Observer.
func (i *interrupter) Phase(name string) {
	if strings.HasPrefix(name, i.at) {
		i.met = true
		i.cancel(errStop)
	}
}

var errStop = errors.New("stop")

// TestAnInterruptionInAnyPhaseLosesNothing ends a download in each phase and goes on.
// What had come is not fetched again, and in the end everything is there and right.
func TestAnInterruptionInAnyPhaseLosesNothing(t *testing.T) {
	images, _ := coco(t, 6)
	tables := func(t *testing.T) Item { _, it := openImages(t); return it }
	for phase, item := range map[string]func(*testing.T) Item{
		"annotations.zip":           func(*testing.T) Item { return images },
		"unpacking annotations.zip": func(*testing.T) Item { return images },
		"val2017.zip":               func(*testing.T) Item { return images },
		"unpacking val2017.zip":     func(*testing.T) Item { return images },
		"annotations/":              tables,
		"reading ":                  tables,
		"images":                    tables,
	} {
		t.Run(strings.ReplaceAll(phase, "/", " "), func(t *testing.T) {
			it := item(t)
			o, _ := options(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			stopper := &interrupter{at: phase, cancel: cancel}
			o.Observer = stopper
			if _, err := Get(ctx, manifestOf(it), it, o); !errors.Is(err, errStop) || !stopper.met {
				t.Fatalf("Get = %v, want %v", err, errStop)
			}
			o.Observer = nil
			mustGet(t, it, o)
			wantVerified(t, it, o.Dir)
		})
	}
}
