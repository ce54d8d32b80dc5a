package request

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/run"
)

// TestOfSeveralValuesTheNearestCounts: settings at random, against a plain second way to choose: by key, the values of the place
// that goes before all others, which have to be one.
func TestOfSeveralValuesTheNearestCounts(t *testing.T) {
	origins := []string{"flag --set", "flag --target-qps", "environment MLPERF_SET", "mlperf.yaml: set"}
	random := rand.New(rand.NewPCG(6, 6))
	refused := 0
	for range 400 {
		var list []config.Override
		for range random.IntN(5) {
			list = append(list, config.Override{Key: []string{"a", "b"}[random.IntN(2)], Value: []string{"1", "2"}[random.IntN(2)], Origin: origins[random.IntN(4)]})
		}
		want, twice := map[string]string{}, false
		for _, key := range []string{"a", "b"} {
			for place := 3; place >= 1; place-- {
				values := map[string]bool{}
				for _, o := range list {
					if o.Key == key && cli.Rank(o.Origin) == place {
						values[o.Value], want[key] = true, o.Value
					}
				}
				if len(values) > 0 {
					twice = twice || len(values) > 1
					break
				}
			}
		}
		got, err := once(slices.Clone(list))
		if err != nil {
			refused++
			// Two values of a place are one too many, even where a nearer place has another one: who wrote them meant one of both.
			if cli.StatusOf(err) != cli.ExitUsage || !strings.Contains(err.Error(), " is given twice: ") || !contradicts(list) {
				t.Fatalf("%v: %v", list, err)
			}
			continue
		}
		chosen := map[string]string{}
		for _, o := range got {
			if _, again := chosen[o.Key]; again {
				t.Fatalf("%v has %s twice", got, o.Key)
			}
			chosen[o.Key] = o.Value
		}
		if twice || !maps.Equal(chosen, want) {
			t.Fatalf("%v: %v, want %v", list, chosen, want)
		}
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

// contradicts reports whether one place has two values of a key.
func contradicts(list []config.Override) bool {
	seen := map[string]string{}
	for _, o := range list {
		at := fmt.Sprint(o.Key, cli.Rank(o.Origin))
		if before, ok := seen[at]; ok && before != o.Value {
			return true
		}
		seen[at] = o.Value
	}
	return false
}

// TestEveryOptionOfAModelIsAFlagWithItsHelp, which says nothing unless it is given.
func TestEveryOptionOfAModelIsAFlagWithItsHelp(t *testing.T) {
	options := run.RunOptions()
	var flags OptionFlags
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Define(f, options)
	if len(flags) != len(options) || len(flags.Values()) > 0 {
		t.Errorf("%d flags of %d options, with the values %v", len(flags), len(options), flags.Values())
	}
	want := map[string]string{}
	for i, o := range options {
		flag := f.Lookup(o.Name)
		if flag == nil || flag.Usage != o.Help || o.Help == "" || (flag.Value.Type() == "bool") != o.Switch {
			t.Errorf("option %s: %+v", o.Name, flag)
			continue
		}
		value := fmt.Sprint(i)
		if o.Switch {
			value = "true"
		}
		if err := f.Set(o.Name, value); err != nil {
			t.Error(err)
		}
		want[o.Name] = value
	}
	if got := flags.Values(); !maps.Equal(got, want) {
		t.Errorf("the values are %v, want %v", got, want)
	}
}
