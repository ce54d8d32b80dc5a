package config

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

const (
	interactive       = "Interactive"
	interactiveSuffix = "-interactive"
)

// ParseScenario returns the scenario of a name; case, hyphens and underscores do not
// matter. Interactive is Server with the stricter limits of the model's interactive
// variant (Model.ConfName).
func ParseScenario(name string) (s loadgen.Scenario, isInteractive bool, err error) {
	if userinput.Same(name, interactive) {
		return loadgen.Server, true, nil
	}
	s, err = loadgen.ParseScenario(name)
	if err != nil {
		err = fmt.Errorf("unknown scenario %q, want SingleStream, MultiStream, Server, Offline or Interactive", name)
	}
	return s, false, err
}
