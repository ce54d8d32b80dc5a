package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// anything is a document of lists, objects and numbers at random.
func anything(random *rand.Rand, depth int) any {
	switch kind := random.IntN(7); {
	case kind == 0 && depth > 0:
		doc := map[string]any{}
		for range random.IntN(4) {
			doc[string(rune('a'+random.IntN(26)))+"<&\u2028\""] = anything(random, depth-1)
		}
		return doc
	case kind == 1 && depth > 0:
		list := []any{}
		for range random.IntN(4) {
			list = append(list, anything(random, depth-1))
		}
		return list
	case kind == 2:
		return "text \x00 \" \\ \u2028 é"
	case kind == 3:
		return random.Float64() * 1e9
	case kind == 4:
		return random.IntN(2) == 0
	case kind == 5:
		return nil
	}
	return float64(random.IntN(100))
}

// TestADocumentIsWhatItWasBesideItsForm: an object has one field more, everything else is the rows of one.
func TestADocumentIsWhatItWasBesideItsForm(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	for range 300 {
		doc := anything(random, 4)
		var b bytes.Buffer
		if err := PrintJSON(&b, "form", doc); err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatalf("%v: %s", err, b.String())
		}
		want := map[string]any{"schema": "mlperf-go/form/1"}
		switch doc := doc.(type) {
		case map[string]any:
			for k, v := range doc {
				want[k] = v
			}
		case nil:
			want["rows"] = []any{}
		default:
			want["rows"] = doc
		}
		if !reflect.DeepEqual(got, want) || !strings.HasPrefix(b.String(), "{\n  \"schema\": \"mlperf-go/form/1\"") || !strings.HasSuffix(b.String(), "\n}\n") {
			t.Errorf("of %v: %s", doc, b.String())
		}
	}
}

func TestADocumentThatCannotBeWrittenIsAnErrorAndNothingIsPrinted(t *testing.T) {
	var b bytes.Buffer
	for _, doc := range []any{math.NaN(), []float64{math.Inf(1)}, map[string]any{"f": func() {}}, make(chan int)} {
		if err := PrintJSON(&b, "form", doc); err == nil || b.Len() > 0 {
			t.Errorf("%T: %v, and %q was printed", doc, err, b.String())
		}
	}
	failed := errors.New("no")
	if err := OrJSON(&b, "form", []int{1}, failed); !errors.Is(err, failed) || b.Len() > 0 {
		t.Errorf("beside an error: %v, and %q was printed", err, b.String())
	}
	if err := OrJSON(&b, "form", []int{1}, nil); err != nil || !strings.Contains(b.String(), `"rows": [`) {
		t.Errorf("%v: %s", err, b.String())
	}
}

// TestNothingThatIsSaidSteersATerminal, whatever bytes somebody has put into names and texts.
func TestNothingThatIsSaidSteersATerminal(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 9))
	for range 300 {
		text := make([]byte, random.IntN(60))
		for i := range text {
			text[i] = byte(random.IntN(256))
		}
		var b strings.Builder
		if err := Say(&b, "%s %d\n", text, 5); err != nil || !strings.HasSuffix(b.String(), " 5\n") {
			t.Fatalf("%q, %v", b.String(), err)
		}
		if err := PrintTable(&b, Row{"name", "n"}, []string{string(text)}, func(s string) Row { return Row{s, 1} }); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.String() {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Fatalf("%q of %q has %q", b.String(), text, r)
			}
		}
	}
}

func TestATableHasALineForEachRow(t *testing.T) {
	var b strings.Builder
	rows := []int{3, 1, 2}
	if err := PrintTable(&b, Row{"number", "square"}, rows, func(n int) Row { return Row{n, n * n} }); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 2+len(rows) || strings.Join(strings.Fields(lines[0]), " ") != "NUMBER SQUARE" {
		t.Fatalf("%q", lines)
	}
	for i, n := range rows {
		if got := strings.Join(strings.Fields(lines[2+i]), " "); got != fmt.Sprintf("%d %d", n, n*n) {
			t.Errorf("row %d: %q", i, got)
		}
	}
}

// TestDurationsAreReadAsTheyAreShown, and a bare number as conf files have it, in milliseconds.
func TestDurationsAreReadAsTheyAreShown(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 9))
	for range 300 {
		want := time.Duration(random.Int64N(1 << (1 + random.IntN(50)))) // which a float64 holds
		var got time.Duration
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		DurationVar(f, &got, "for", 5*time.Second, "")
		if got != 5*time.Second || f.Lookup("for").DefValue != "5s" {
			t.Fatalf("the default is %v, said as %s", got, f.Lookup("for").DefValue)
		}
		if err := f.Parse([]string{"--for", want.String()}); err != nil || got != want {
			t.Fatalf("%v is read as %v, %v", want, got, err)
		}
		if ms := want / time.Millisecond; f.Parse([]string{"--for", fmt.Sprint(int64(ms))}) != nil || got != ms*time.Millisecond {
			t.Fatalf("%d is read as %v", ms, got)
		}
		if again := f.Lookup("for").Value.String(); again != got.String() {
			t.Fatalf("%v is shown as %s", got, again)
		}
	}
	for _, text := range []string{"", "soon", "-5s", "1e30h", "NaN", "5 parsecs"} {
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		DurationVar(f, new(time.Duration), "for", 0, "")
		if err := f.Parse([]string{"--for=" + text}); err == nil {
			t.Errorf("%q is a duration", text)
		}
	}
}

func TestScenariosAreReadHoweverTheyAreSpelt(t *testing.T) {
	for _, want := range loadgen.Scenarios() {
		name := want.String()
		for _, text := range []string{name, strings.ToLower(name), strings.ToUpper(name), strings.Replace(name, "Stream", "-stream", 1), strings.Replace(name, "Stream", "_STREAM", 1)} {
			var got loadgen.Scenario
			f := pflag.NewFlagSet("", pflag.ContinueOnError)
			ScenarioVar(f, &got, "scenario", "")
			if err := f.Parse([]string{"--scenario", text}); err != nil || got != want || f.Lookup("scenario").Value.String() != name {
				t.Errorf("%q is read as %v, %v, want %v", text, got, err, want)
			}
		}
	}
}

// TestWhatGoesBeforeIsTheSameForEveryFlag: values from some of the three places, of flags of every type.
func TestWhatGoesBeforeIsTheSameForEveryFlag(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 9))
	for range 24 {
		t.Run("", func(t *testing.T) {
			t.Chdir(t.TempDir())
			var args []string
			file := ""
			want := map[string]string{"count": "7", "model": "none", "min-duration": "1s", "quick": "false"}
			for name := range want {
				values := map[string][3]string{"count": {"1", "2", "3"}, "model": {"a", "b", "c"}, "min-duration": {"1ms", "2ms", "3ms"}, "quick": {"true", "false", "true"}}[name]
				in := random.IntN(8) // bits: the file, the environment, the command line
				if in&1 != 0 {
					file += name + ": " + values[0] + "\n"
					want[name] = values[0]
				}
				if in&2 != 0 {
					t.Setenv("MLPERF_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_")), values[1])
					want[name] = values[1]
				}
				if in&4 != 0 {
					args = append(args, "--"+name+"="+values[2])
					want[name] = values[2]
				}
			}
			if err := os.WriteFile(optionFile, []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := &cobra.Command{Use: "run"}
			DefineProgress(cmd.Flags())
			cmd.Flags().Int("count", 7, "")
			cmd.Flags().String("model", "none", "")
			cmd.Flags().Bool("quick", false, "")
			DurationVar(cmd.Flags(), new(time.Duration), "min-duration", time.Second, "")
			if err := cmd.ParseFlags(args); err != nil {
				t.Fatal(err)
			}
			if err := Before(cmd); err != nil {
				t.Fatal(err)
			}
			for name, value := range want {
				if got := cmd.Flag(name).Value.String(); got != value {
					t.Errorf("%s is %s, want %s; the file has %q, the command line %q", name, got, value, file, args)
				}
			}
		})
	}
}

// TestThePacerIsThatOfItsFlags, which are all that there is to say of it.
func TestThePacerIsThatOfItsFlags(t *testing.T) {
	var p PacerFlags
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	p.Define(f)
	if p.spin != loadgen.DefaultSpin || !p.priority || p.NewPacer() == nil {
		t.Errorf("by default it spins %v, with priority %v", p.spin, p.priority)
	}
	if err := f.Parse([]string{"--spin", "3ms", "--issue-priority=false"}); err != nil || p.spin != 3*time.Millisecond || p.priority {
		t.Errorf("it spins %v, with priority %v, %v", p.spin, p.priority, err)
	}
}
