package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// chosen is a command with a format after its flags were settled, run in a folder of its own.
func chosen(t *testing.T, file string, args ...string) *cobra.Command {
	t.Helper()
	t.Chdir(t.TempDir())
	if file != "" {
		if err := os.WriteFile(optionFile, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := &cobra.Command{Use: "report"}
	f := cmd.Flags()
	DefineProgress(f)
	JSONFlag(f, new(bool))
	f.String("format", "table", "")
	f.Int("seed", 0, "")
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	if err := Before(cmd); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestTheFormatIsTheOneThatWasSaidTheNearest: on the command line, then in the environment, then in the file.
func TestTheFormatIsTheOneThatWasSaidTheNearest(t *testing.T) {
	for _, c := range []struct {
		name, file, variable, value string
		args                        []string
		want, wrong                 string
	}{
		{name: "nobody says anything", want: "table"},
		{name: "the flag for JSON", args: []string{"--json"}, want: "json"},
		{name: "another format", args: []string{"--format", "csv"}, want: "csv"},
		{name: "JSON in both ways", args: []string{"--json", "--format", "json"}, want: "json"},
		{name: "two formats", args: []string{"--json", "--format", "csv"}, wrong: "--json and --format csv are two formats, want one"},
		{name: "no JSON, and a format", args: []string{"--json=false", "--format", "csv"}, want: "csv"},
		{name: "a format where the file wants JSON", file: "json: true", args: []string{"--format", "csv"}, want: "csv"},
		{name: "a format where the environment wants JSON", variable: "MLPERF_JSON", value: "true", args: []string{"--format", "csv"}, want: "csv"},
		{name: "JSON where the file wants a format", file: "format: csv", args: []string{"--json"}, want: "json"},
		{name: "JSON of the environment where the file wants a format", file: "format: csv", variable: "MLPERF_JSON", value: "true", want: "json"},
		{name: "a format of the environment where the file wants JSON", file: "json: true", variable: "MLPERF_FORMAT", value: "csv", want: "csv"},
		{name: "both in the file", file: "json: true\nformat: csv", want: "json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.variable != "" {
				t.Setenv(c.variable, c.value)
			}
			f := chosen(t, c.file, c.args...).Flags()
			format, asJSON := f.Lookup("format").Value.String(), f.Lookup("json").Value.String() == "true"
			got, err := FormatOf(f, format, asJSON)
			if c.wrong != "" {
				if StatusOf(err) != ExitUsage || err.Error() != c.wrong {
					t.Errorf("%v, want the wrong command line %q", err, c.wrong)
				}
				return
			}
			if got != c.want || err != nil {
				t.Errorf("FormatOf = %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestAFlagWithoutAPointIsNamed(t *testing.T) {
	f := chosen(t, "", "--seed", "3").Flags()
	err := Pointless(f, "is of --count, which is not given", "format", "seed")
	if StatusOf(err) != ExitUsage || err.Error() != "--seed is of --count, which is not given" {
		t.Errorf("on the command line: %v", err)
	}
	if err := Pointless(f, "is of nothing", "format", "json", "nowhere"); err != nil {
		t.Errorf("flags that were not given: %v", err)
	}
	if err := Pointless(f, "is of nothing"); err != nil {
		t.Errorf("no flags at all: %v", err)
	}
}

// TestWhatLiesAroundIsForOtherVerbs: a variable or a line of mlperf.yaml that a verb has no use for is no mistake of its call.
func TestWhatLiesAroundIsForOtherVerbs(t *testing.T) {
	t.Setenv("MLPERF_FORMAT", "csv")
	f := chosen(t, "seed: 5").Flags()
	if err := Pointless(f, "is of nothing", "format", "seed"); err != nil {
		t.Errorf("from the environment and the file: %v", err)
	}
	for name, want := range map[string]int{"json": 0, "seed": 1, "format": 2, "nowhere": 0} {
		if got := Rank(OriginOf(f, name)); got != want || OnCommandLine(f, name) {
			t.Errorf("%s comes from %q, of rank %d, want %d", name, OriginOf(f, name), got, want)
		}
	}
	if f := chosen(t, "", "--seed=0").Flags(); !OnCommandLine(f, "seed") || Rank(OriginOf(f, "seed")) != 3 {
		t.Errorf("a flag with the value that it has anyway comes from %q", OriginOf(f, "seed"))
	}
}

// TestWordsOfAFlagAreCompleted, and no file beside them.
func TestWordsOfAFlagAreCompleted(t *testing.T) {
	cmd := &cobra.Command{Use: "report"}
	cmd.Flags().String("format", "", "")
	Completes(cmd, "format", "csv", "json")
	of, ok := cmd.GetFlagCompletionFunc("format")
	if !ok {
		t.Fatal("nothing completes the flag")
	}
	words, directive := of(cmd, nil, "")
	if strings.Join(words, " ") != "csv json" || directive != cobra.ShellCompDirectiveNoFileComp {
		t.Errorf("completed with %v, %d", words, directive)
	}
	defer func() {
		if recover() == nil {
			t.Error("a flag that is not there is completed")
		}
	}()
	Completes(cmd, "formt", "csv")
}
