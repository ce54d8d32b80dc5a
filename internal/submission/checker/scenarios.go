package checker

import (
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
)

// kinds are the values of system_type, and what the tables call them.
var kinds = map[string]string{
	"edge": "edge", "datacenter": "datacenter", "datacenter,edge": "datacenter-edge", "edge,datacenter": "datacenter-edge",
}

// scenarios checks that a benchmark has the scenarios that closed and network ask for.
// One that is missing or unknown fails all of the benchmark.
func (l *loader) scenarios(book *notebook, j job, folder string, have []string) {
	kind := kinds[j.description.systemType]
	if kind == "" {
		return // which the description's own check says
	}
	m := l.round.Model(j.model)
	required, known := m.Required[kind]
	if !known {
		if m.Accuracy != nil {
			book.fail("benchmark-unknown", problem{path: folder, message: l.round.Version + " has no " + j.model + " for systems of this type", found: j.description.systemType, wanted: "another system_type"})
		}
		return
	}
	c := scenarioCheck{folder: folder, have: have, required: required, optional: m.Optional[kind]}
	c.missing(book)
	c.unknown(book, j.model+" has no such scenario on "+j.description.systemType+" systems")
}

// A scenarioCheck compares the scenarios of a benchmark with those that it may have.
type scenarioCheck struct {
	folder                   string
	have, required, optional []string
}

// has reports whether there is a scenario, in any case of letters.
func (c scenarioCheck) has(scenario string) bool {
	scenario = strings.ToLower(scenario) // as the official checker compares
	return slices.ContainsFunc(c.have, func(s string) bool { return strings.ToLower(s) == scenario })
}

func (c scenarioCheck) missing(book *notebook) {
	for _, s := range c.required {
		if !c.has(s) {
			book.fail("scenario-missing", problem{path: c.folder, message: s + " is missing", found: strings.Join(c.have, ", "), wanted: strings.Join(c.required, ", ")})
		}
	}
	both := slices.Contains(c.optional, "Interactive") && slices.Contains(c.optional, "Server")
	if both && !c.has("Interactive") && !c.has("Server") {
		book.fail("scenario-missing", problem{path: c.folder, message: "neither Interactive nor Server is there", found: strings.Join(c.have, ", "), wanted: "one of the two, or both"})
	}
}

func (c scenarioCheck) unknown(book *notebook, message string) {
	may := scenarioCheck{have: slices.Concat(c.required, c.optional)}
	for _, s := range c.have {
		if !may.has(s) {
			book.fail("scenario-unknown", problem{path: c.folder + "/" + s, message: message, found: s, wanted: strings.Join(may.have, ", ")})
		}
	}
}

// twice finds scenarios that have two folders, such as Offline and offline.
func (l *loader) twice(folder string, have []string) {
	first := map[string]string{}
	for _, name := range have {
		s := rounds.Scenario(name)
		if other, ok := first[s]; ok && s != "" {
			l.fail("scenario-twice", problem{path: folder, message: s + " has two folders", found: other + ", " + name, wanted: "one"})
		}
		first[s] = name
	}
}
