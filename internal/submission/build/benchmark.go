package build

import (
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// benchmark is the official name of what a run is of.
func (b *builder) benchmark(r *run) (string, error) {
	name := b.Model
	if r.results != nil {
		name = r.results.Model
	}
	if name == "" || name == report.NotKnown {
		return "", userinput.Errorf("model", "%s does not say which model it is of, as logs of LoadGen do not: want its name", r.folder)
	}
	names := []string{name}
	if m, err := models.Lookup(name); err == nil {
		names = append(append(names, m.Name, m.Rules.Name), m.Rules.Aliases...)
	}
	official := b.round.Benchmark(names...)
	if official == "" {
		return "", fmt.Errorf("%s: rules %s have no benchmark %q", r.folder, b.Rules, name)
	}
	return official, b.admitOther(r, name, official)
}

// stranger makes the error about the model of a run one that leaves it out, unless somebody can say
// what is missing.
func (b *builder) stranger(err error) error {
	var of *userinput.Error
	if errors.As(err, &of) {
		return err
	}
	return strangerError{err}
}

// admitOther refuses a network that is not the benchmark's where that may not be.
func (b *builder) admitOther(r *run, name, official string) error {
	switch {
	case !rounds.Other(name):
		return nil
	case b.Division != "open":
		return fmt.Errorf("%s: %s is not %s: the division %s has the reference's model", r.folder, name, official, b.Division)
	case b.Name == "":
		return userinput.Errorf("name", "%s: %s is not %s: want a name of its own", r.folder, name, official)
	}
	return nil
}

// A strangerError is about a run that says itself which model it is of, and that no result of the
// tree may have.
type strangerError struct{ error }

// leaveOut keeps why a run of another model does not enter, and returns all other errors: folders
// of many runs have those of many models.
func (b *builder) leaveOut(err error) error {
	var stranger strangerError
	if !errors.As(err, &stranger) {
		return err
	}
	b.built.LeftOut = append(b.built.LeftOut, stranger.Error())
	return nil
}
