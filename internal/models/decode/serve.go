package decode

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// rounds are what batchers do again and again.
type rounds interface {
	// admit takes samples where there is room. Open is false when there will be no more.
	admit(source workload.Source) (open bool, err error)
	// busy reports whether samples are under way.
	busy() bool
	// read reads a chunk of a prompt, if one was not read yet.
	read(ctx context.Context, reply workload.Source) error
	// step makes a token of each answer that has begun.
	step(ctx context.Context, reply workload.Source) error
}

// serveAll answers samples until the source is closed and none is under way, or ctx ends.
func serveAll(ctx context.Context, b rounds, source workload.Source) error {
	for {
		open, err := b.admit(source)
		if err != nil {
			return err
		}
		if !b.busy() {
			if !open {
				return nil
			}
			continue
		}
		if err := round(ctx, b, source); err != nil {
			return err
		}
	}
}

func round(ctx context.Context, b rounds, reply workload.Source) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := b.read(ctx, reply); err != nil {
		return err
	}
	reply.Worked()
	return b.step(ctx, reply)
}
