package cli

import (
	"testing"

	"github.com/spf13/cobra"
)

func TestArgumentsThatAreTooManyTooFewOrEmptyAreNamed(t *testing.T) {
	cmd := &cobra.Command{Use: "show MODEL [FILE]"}
	(&cobra.Command{Use: "mlperf"}).AddCommand(cmd) // whose name all errors begin with
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"a"}, ""},
		{[]string{"a", "b"}, ""},
		{[]string{"a", "b", "c"}, `show: unexpected argument "c"`},
		{nil, "show: want MODEL [FILE]"},
		{[]string{"a", ""}, "show: an argument is empty: want MODEL [FILE]"},
	} {
		got := ""
		if err := Arguments(1, 2)(cmd, c.args); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}

func TestAVerbThatIsNotThereHasNeighbours(t *testing.T) {
	root := &cobra.Command{Use: "mlperf", SuggestionsMinimumDistance: 2}
	root.AddCommand(&cobra.Command{Use: "run", Run: func(*cobra.Command, []string) {}})
	if err := NoVerb(root, nil); err != nil {
		t.Errorf("no verb: %v", err)
	}
	for verb, want := range map[string]string{"rum": `unknown command "rum", did you mean run?`, "chicken": `unknown command "chicken"`} {
		if err := NoVerb(root, []string{verb}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
