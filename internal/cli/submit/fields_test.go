package submit

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
)

// TestFieldsAreGivenOnceEach, with everything behind the first sign as their value.
func TestFieldsAreGivenOnceEach(t *testing.T) {
	for _, c := range []struct {
		name, given, wrong string
		want               map[string]string
	}{
		{"none", "", "", map[string]string{}},
		{"one", "cooling=air", "", map[string]string{"cooling": "air"}},
		{"a value with a sign", "framework=a=b=c", "", map[string]string{"framework": "a=b=c"}},
		{"an empty value", "cooling=", "", map[string]string{"cooling": ""}},
		{"several", "a=1 b=2", "", map[string]string{"a": "1", "b": "2"}},
		{"one twice, and the same", "a=1 a=1", "", map[string]string{"a": "1"}},
		{"one twice, and another", "a=1 b=2 a=3", `--set gives a twice: "1" and "3"`, nil},
		{"no sign", "cooling", `--set is "cooling", want FIELD=VALUE`, nil},
		{"no field", "=air", `--set is "=air", want FIELD=VALUE`, nil},
	} {
		got, err := assignments("set", strings.Fields(c.given))
		if c.wrong != "" {
			if cli.StatusOf(err) != cli.ExitUsage || err.Error() != c.wrong {
				t.Errorf("%s: %v, want %s", c.name, err, c.wrong)
			}
			continue
		}
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

// addresses are of what is elsewhere, in another place each time.
var addresses = regexp.MustCompile("0x[0-9a-f]{6,}")

// TestEachFlagOfADescriptionSaysSomethingOfItsOwn: it changes what is described, in another way than the others.
func TestEachFlagOfADescriptionSaysSomethingOfItsOwn(t *testing.T) {
	state := func(args ...string) string {
		o, cmd := &systemFlags{}, &cobra.Command{}
		o.define(cmd.Flags())
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		return addresses.ReplaceAllString(fmt.Sprintf("%+v", *o), "&")
	}
	by := map[string]string{state(): "no flag"}
	for _, flag := range strings.Fields("--submitter=o --division=closed --status=available --system-type=edge --system-name=n --ort-lib=l --set=a=b") {
		now := state(flag)
		if other, same := by[now]; same {
			t.Errorf("%s asks for the same as %s", flag, other)
		}
		by[now] = flag
	}
}

// TestRoundsAndFormatsAreCompleted with those that the verbs take.
func TestRoundsAndFormatsAreCompleted(t *testing.T) {
	for _, cmd := range newSubmission().Commands() {
		for flag, want := range map[string][]string{"rules": rounds.Versions(), "format": reportFormats, "profile": {"reference", "strict"}} {
			if cmd.Flags().Lookup(flag) == nil {
				continue
			}
			of, ok := cmd.GetFlagCompletionFunc(flag)
			if !ok {
				t.Errorf("%s: nothing completes --%s", cmd.Name(), flag)
				continue
			}
			if words, _ := of(cmd, nil, ""); !slices.Equal(words, want) {
				t.Errorf("%s --%s is completed with %q, want %q", cmd.Name(), flag, words, want)
			}
		}
	}
}

func TestFormatsThatDoNotGoTogetherAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "a report in two", Args: []string{"submission", "report", "tree", "--json", "--format", "html"}, Status: cli.ExitUsage, Want: []string{"--json and --format html are two formats, want one"}},
		{Name: "a report in none, of no tree", Args: []string{"submission", "report", "nowhere", "--format", "word"}, Status: cli.ExitUsage, Want: []string{`--format is "word", want summary, csv, markdown or html, or json`}},
		{Name: "a round that is none", Args: []string{"submission", "check", ".", "--rules", "v4.1"}, Status: cli.ExitUsage, Want: []string{`"v4.1"`}},
	})
}
