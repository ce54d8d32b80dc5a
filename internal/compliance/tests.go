package compliance

import (
	"context"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The tests of this package.
const (
	Test01 = "TEST01"
	Test03 = "TEST03"
	Test04 = "TEST04"
	Test05 = "TEST05"
	Test06 = "TEST06"
	Test07 = "TEST07"
	Test08 = "TEST08"
	Test09 = "TEST09"
)

// set05 lists the audit set of v0.5: accuracy verification, custom data set, on-the-fly
// caching detection, alternate seeds.
func set05() []string { return []string{Test01, Test03, Test04, Test05} }

// A kind is what a test needs and leaves.
type kind struct {
	first, last string // rules; empty: any
	// performance and accuracy: it compares with these runs of the result.
	performance, accuracy bool
	// keepsRun and keepsLog say which folders the official checker wants of it.
	keepsRun, keepsLog bool
	verify             func(context.Context, *Verdict, Logs, Options) error
}

// kinds are all tests. Rounds are those whose compliance folder has them.
var kinds = map[string]kind{
	Test01: {performance: true, accuracy: true, keepsRun: true, keepsLog: true, verify: verify01},
	Test03: {last: "v0.5", performance: true, accuracy: true, keepsRun: true, keepsLog: true, verify: verify03},
	Test04: {performance: true, keepsRun: true, verify: verify04},
	Test05: {last: "v4.1", performance: true, keepsRun: true, verify: verify05},
	Test06: {first: "v4.0", keepsLog: true, verify: verify06},
	Test07: {first: "v6.0", keepsRun: true, keepsLog: true, verify: verify07},
	Test08: {first: "v6.0", accuracy: true, keepsRun: true, keepsLog: true, verify: verify08},
	Test09: {first: "v6.0", keepsRun: true, keepsLog: true, verify: verify09},
}

// tests lists the tests of this package.
func tests() []string {
	return []string{Test01, Test03, Test04, Test05, Test06, Test07, Test08, Test09}
}

// lookup returns the name of a test in capitals, and the version of the rules.
func lookup(test, rules string) (name, version string, err error) {
	if name = strings.ToUpper(test); !slices.Contains(tests(), name) {
		return "", "", userinput.Invalid("test", test, "one of "+strings.Join(tests(), ", "))
	}
	set, err := config.Rules(rules)
	if err != nil {
		return "", "", userinput.Wrap("rules", err)
	}
	k, when := kinds[name], ""
	switch version = set.Version; {
	case k.last != "" && version > k.last:
		when = "of the rules up to " + k.last
	case version < k.first:
		when = "of the rules from " + k.first + " on"
	default:
		return name, version, nil
	}
	return "", "", userinput.Errorf("rules", "%s is %s, not of %s", name, when, version)
}

// pairOfRuns reports whether TEST04 is two runs, of different samples and of one sample
// again and again: before v2.1, when it became one run beside the result's.
func pairOfRuns(test, version string) bool { return test == Test04 && version < "v2.1" }

// The two runs.
const (
	test04A = "TEST04-A"
	test04B = "TEST04-B"
)
