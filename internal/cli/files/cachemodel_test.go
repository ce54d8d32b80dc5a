package files

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/cache"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
)

// entries reads what is in a cache, by kind and name.
func entries(t *testing.T, dir string) (names []string, total int64) {
	t.Helper()
	list, err := cache.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Kind+"/"+e.Name)
		total += e.Bytes
	}
	slices.Sort(names)
	return names, total
}

// plainlyLeft is what stays of a cache of which all that is old is cleared that arguments mean; all, if one of them
// is unknown. Arguments are kinds and beginnings of names, and none means everything.
func plainlyLeft(entries, args []string, old func(entry string) bool) (left []string, unknown bool) {
	means := func(entry, arg string) bool {
		kind, name, _ := strings.Cut(entry, "/")
		return kind == arg || strings.HasPrefix(name, arg)
	}
	unknown = slices.ContainsFunc(args, func(arg string) bool {
		return arg != "samples" && arg != "datasets" && !slices.ContainsFunc(entries, func(e string) bool { return means(e, arg) })
	})
	for _, e := range entries {
		asked := len(args) == 0 || slices.ContainsFunc(args, func(arg string) bool { return means(e, arg) })
		if unknown || !asked || !old(e) {
			left = append(left, e)
		}
	}
	return left, unknown
}

// TestWhatIsClearedIsWhatEachArgumentMeans: caches and commands at random, against a plain second way to say what stays.
func TestWhatIsClearedIsWhatEachArgumentMeans(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 25 {
		ages := map[string]time.Duration{}
		for range 1 + random.IntN(6) {
			kind := []string{"samples", "datasets"}[random.IntN(2)]
			name := strings.Repeat(fmt.Sprintf("%02x", random.IntN(4)), 10)
			if kind == "datasets" {
				name = "imagenet-" + name
			}
			ages[kind+"/"+name] = -time.Duration(random.IntN(100)) * time.Hour
		}
		dir := fill(t, ages)
		before, _ := entries(t, dir)
		var wanted []string
		for range random.IntN(3) {
			wanted = append(wanted, []string{"samples", "datasets", "imagenet-", "00", "0101"}[random.IntN(5)])
		}
		args := append([]string{"cache", "clear"}, wanted...)
		least := time.Duration(random.IntN(3)*40) * time.Hour
		if least > 0 {
			args = append(args, "--unused", least.String())
		}
		want, unknown := plainlyLeft(before, wanted, func(e string) bool { return least == 0 || -ages[e] >= least })
		dry := clitest.Run(t, Commands(), append(slices.Clone(args), "--dry-run")...)
		if kept, _ := entries(t, dir); !slices.Equal(kept, before) {
			t.Fatalf("%q as a dry run left %q of %q", args, kept, before)
		}
		o := clitest.Run(t, Commands(), args...)
		got, _ := entries(t, dir)
		if !slices.Equal(got, want) || unknown != (o.Status == cli.ExitUsage) || unknown != (dry.Status == cli.ExitUsage) {
			t.Errorf("mlperf %s of %v: status %d, left %q, want %q", strings.Join(args, " "), ages, o.Status, got, want)
		}
		if _, err := os.Stat(filepath.Join(dir, "letters.txt")); err != nil {
			t.Errorf("what is not the program's: %v", err)
		}
	}
}

// TestALimitTakesTheOldestAndNoMoreThanItMust.
func TestALimitTakesTheOldestAndNoMoreThanItMust(t *testing.T) {
	ages := map[string]time.Duration{}
	var byAge []string // the longest unused first
	for i := range 5 {
		name := "samples/" + strings.Repeat(fmt.Sprintf("%02x", i), 10)
		ages[name] = -time.Duration(10-i) * time.Hour
		byAge = append(byAge, name)
	}
	for keep := range 6 {
		dir := fill(t, ages)
		_, total := entries(t, dir)
		one := total / 5
		limit := fmt.Sprintf("%dB", int64(keep)*one+one/2) // room for so many, and half of another
		o := clitest.Run(t, Commands(), "cache", "limit", limit)
		want := byAge[5-min(5, keep):]
		got, rest := entries(t, dir)
		if o.Status != cli.ExitDone || !slices.Equal(got, want) || rest > int64(keep)*one+one/2 {
			t.Errorf("limit %s: status %d, left %q, want %q: %s", limit, o.Status, got, want, o.Err)
		}
	}
	dir := fill(t, ages)
	o := clitest.Run(t, Commands(), "cache", "limit", "20")
	if got, _ := entries(t, dir); o.Status != cli.ExitUsage || o.Err != "20 has no unit, want a size such as 20GB or 20MiB" || len(got) != 5 {
		t.Errorf("without a unit: status %d: %s; left %q", o.Status, o.Err, got)
	}
}
