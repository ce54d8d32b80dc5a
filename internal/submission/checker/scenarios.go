package checker

import (
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/submission/rounds"
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
	optional := m.Optional[kind]
	lower := []string{}
	for _, s := range have {
		lower = append(lower, strings.ToLower(s))
	}
	for _, s := range required {
		if !slices.Contains(lower, strings.ToLower(s)) {
			book.fail("scenario-missing", problem{path: folder, message: s + " is missing", found: strings.Join(have, ", "), wanted: strings.Join(required, ", ")})
		}
	}
	for i, s := range lower {
		known := func(name string) bool { return strings.ToLower(name) == s }
		if !slices.ContainsFunc(slices.Concat(required, optional), known) {
			book.fail("scenario-unknown", problem{path: folder + "/" + have[i], message: j.model + " has no such scenario on " + j.description.systemType + " systems", found: have[i], wanted: strings.Join(slices.Concat(required, optional), ", ")})
		}
	}
	both := slices.Contains(optional, "Interactive") && slices.Contains(optional, "Server")
	if both && !slices.ContainsFunc(lower, func(s string) bool { return s == "interactive" || s == "server" }) {
		book.fail("scenario-missing", problem{path: folder, message: "neither Interactive nor Server is there", found: strings.Join(have, ", "), wanted: "one of the two, or both"})
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
