package accuracy

import (
	"context"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/workerpool"
)

// A Program is code that a model wrote, to be run on the tests of what it was asked for.
type Program struct {
	Language string // cpp, python, php, javascript, ruby or typescript
	ID       string // of the problem
	Code     string // of MBXP with its tests
}

// ProgramOptions are the options of scores of which programs are a part.
type ProgramOptions struct {
	TokenOptions
	// Execute runs a program that a model wrote and reports whether it passes. It is called by
	// several goroutines. Without it no program passes, as nobody's code is run unless that is asked for.
	Execute func(context.Context, Program) (bool, error)
	// Progress is told how many programs have been run; nil: nobody is.
	Progress func(done, of int)
}

// execute reports which programs pass.
func (o ProgramOptions) execute(ctx context.Context, programs []Program) ([]bool, error) {
	passed := make([]bool, len(programs))
	done := workerpool.Counter(len(programs), o.Progress)
	err := workerpool.Each(ctx, o.Workers, len(programs), func(ctx context.Context, i int) (err error) {
		if passed[i], err = o.Execute(ctx, programs[i]); err != nil {
			return fmt.Errorf("executing the answer to %s: %w", programs[i].ID, err)
		}
		done(1)
		return nil
	})
	return passed, err
}
