package catalogue

import (
	"slices"

	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/own"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// An Option says how a model is fed, read or scored.
type Option struct {
	Name    string   // with hyphens
	Aliases []string // other spellings, those of the official scripts
	Help    string
	Switch  bool     // true or false
	Repeats bool     // values are joined with commas
	Choices []string // of a switch: further values
}

// ModelOptions lists how the models of the catalogue may be fed and read.
func ModelOptions() []Option {
	return optionsOf(func(m workload.Model) []workload.Option {
		return slices.DeleteFunc(runOptions(m), func(o workload.Option) bool { return o.Scoring })
	})
}

// RunOptions are ModelOptions, and how the log of a run may be scored.
func RunOptions() []Option { return optionsOf(runOptions) }

func runOptions(m workload.Model) []workload.Option { return slices.Concat(m.Options, m.RemoteOptions) }

// ScoreOptions lists the options of the official accuracy scripts.
func ScoreOptions() []Option {
	return optionsOf(func(m workload.Model) []workload.Option { return m.ScoreOptions })
}

// ReaderOptions lists how files may be made into inputs of the models.
func ReaderOptions() []Option {
	return optionsOf(func(m workload.Model) []workload.Option { return m.ReaderOptions })
}

// optionsOf lists options of all models, each name once, those of models that only servers run and of own models last.
func optionsOf(of func(workload.Model) []workload.Option) []Option {
	var list []Option
	seen := map[string]bool{}
	for _, m := range slices.Concat(models.All(), models.RemoteModels(), []workload.Model{own.Model("")}) {
		for _, o := range of(m) {
			if !seen[o.Name] {
				list = append(list, Option{o.Name, o.Aliases, o.Help, o.Kind == workload.Bool, o.Kind == workload.List, o.Choices})
			}
			seen[o.Name] = true
		}
	}
	return list
}
