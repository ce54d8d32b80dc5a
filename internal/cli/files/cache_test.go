package files

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/cli/progress"
	"github.com/mlperf-go/mlperf/internal/machine/home"
)

// hour is an hour ago, month thirty days, and ahead a time that a wrong clock wrote.
const hour, month, ahead = -time.Hour, -30 * 24 * time.Hour, 365 * 24 * time.Hour

// fill makes a cache of two sets of samples and a model, with a file of somebody else's beside them, and returns its folder.
func fill(t *testing.T, used map[string]time.Duration) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("MLPERF_CACHE_DIR", dir)
	for name, age := range used {
		path := filepath.Join(dir, name, "part")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, 64<<10), 0o644); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(age)
		for _, p := range []string{path, filepath.Dir(path)} {
			if err := os.Chtimes(p, when, when); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "letters.txt"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// old and young are names of entries as the program gives them.
var old, young = "samples/" + strings.Repeat("0a", 10), "samples/" + strings.Repeat("1b", 10)

// left lists the names of the entries that are there.
func left(t *testing.T, dir string) string {
	t.Helper()
	list, err := home.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Kind+"/"+e.Name[:2])
	}
	return strings.Join(names, " ")
}

func TestOnlyWhatWasMeantIsCleared(t *testing.T) {
	for _, c := range []struct {
		name, args string
		status     int
		want, left string
	}{
		{"all", "clear --yes", cli.ExitDone, "removed ", ""},
		{"a dry run removes nothing", "clear --dry-run", cli.ExitDone, "would remove 2 entries, ", "samples/0a samples/1b"},
		{"a kind", "clear samples -y", cli.ExitDone, "removed ", ""},
		{"a kind of which there is nothing", "clear models -y", cli.ExitDone, "nothing to remove", "samples/0a samples/1b"},
		{"the beginning of a name", "clear 0a -y", cli.ExitDone, "removed ", "samples/1b"},
		{"what was unused for long", "clear --unused 720h -y", cli.ExitDone, "removed ", "samples/1b"},
		{"what was unused for so long that nothing was", "clear --unused 9000h -y", cli.ExitDone, "nothing to remove", "samples/0a samples/1b"},
		{"what was unused for less than nothing", "clear --unused=-720h -y", cli.ExitUsage, `"-720h" is negative`, "samples/0a samples/1b"},
		{"a name that is none", "clear sample -y", cli.ExitUsage, `there is no entry "sample", want a kind (`, "samples/0a samples/1b"},
		{"one name of two that is none", "clear 0a zz -y", cli.ExitUsage, `there is no entry "zz", want a kind`, "samples/0a samples/1b"},
		{"an argument that is empty means nothing, not everything", "clear -y _", cli.ExitUsage, `there is no entry "", want a kind`, "samples/0a samples/1b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := fill(t, map[string]time.Duration{old: month - time.Hour, young: hour})
			args := strings.Fields("cache " + c.args)
			for i, a := range args {
				if a == "_" {
					args[i] = ""
				}
			}
			o := clitest.Run(t, Commands(), args...)
			if o.Status != c.status || !strings.Contains(o.Stdout+o.Err, c.want) {
				t.Errorf("status %d, want %d and %q:\n%s%s", o.Status, c.status, c.want, o.Stdout, o.Err)
			}
			if got := left(t, dir); got != c.left {
				t.Errorf("left is %q, want %q", got, c.left)
			}
			if text, err := os.ReadFile(filepath.Join(dir, "letters.txt")); string(text) != "mine" {
				t.Errorf("what somebody else put there: %q, %v", text, err)
			}
		})
	}
}

func TestAnEntryOfATimeThatIsYetToComeIsClearedToo(t *testing.T) {
	dir := fill(t, map[string]time.Duration{old: ahead})
	if o := clitest.Run(t, Commands(), "cache", "clear", "--unused", "1h", "--yes"); left(t, dir) == "" {
		t.Errorf("it was used an hour ago or later:\n%s", o.Stdout)
	}
	if o := clitest.Run(t, Commands(), "cache", "clear", "--yes"); left(t, dir) != "" {
		t.Errorf("%q is left:\n%s%s", left(t, dir), o.Stdout, o.Err)
	}
}

func TestWhereNobodyIsAskedTheCacheIsCleared(t *testing.T) {
	dir := fill(t, map[string]time.Duration{old: hour})
	if o := clitest.Run(t, Commands(), "cache", "clear"); o.Status != cli.ExitDone || left(t, dir) != "" {
		t.Errorf("status %d, %q is left", o.Status, left(t, dir))
	}
}

func TestACacheThatIsInUseIsNotCleared(t *testing.T) {
	dir := fill(t, map[string]time.Duration{old: hour})
	release := home.Hold(dir)
	defer release()
	for _, flags := range [][]string{{"--yes"}, {"--yes", "--json"}} {
		o := clitest.Run(t, Commands(), append([]string{"cache", "clear"}, flags...)...)
		if want := "the cache is in use by another process: wait for it to end; nothing was removed"; o.Status != cli.ExitError || o.Err != want {
			t.Errorf("%q: status %d, %q, want %q", flags, o.Status, o.Err, want)
		}
	}
	if got := left(t, dir); got != "samples/0a" {
		t.Errorf("left is %q", got)
	}
}

func TestTheCacheAsJSON(t *testing.T) {
	type document struct {
		Schema  string       `json:"schema"`
		Folder  string       `json:"folder"`
		Bytes   int64        `json:"bytes"`
		Removed int64        `json:"removed_bytes"`
		DryRun  bool         `json:"dry_run"`
		Entries []home.Entry `json:"entries"`
	}
	dir := fill(t, map[string]time.Duration{old: month, young: hour})
	for _, c := range []struct {
		args    string
		entries int
		removes bool
	}{
		{"list --json", 2, false}, {"clear --dry-run --json", 2, false}, {"clear --json --yes", 2, true}, {"list --json", 0, false},
	} {
		o := clitest.Run(t, Commands(), strings.Fields("cache "+c.args)...)
		var d document
		if err := json.Unmarshal([]byte(o.Stdout), &d); err != nil {
			t.Fatalf("%s: %v in %s", c.args, err, o.Stdout)
		}
		if d.Schema != cacheSchema || d.Folder != dir || len(d.Entries) != c.entries || d.Entries == nil || (d.Removed > 0) != c.removes || d.DryRun != strings.Contains(c.args, "dry") {
			t.Errorf("%s: %+v", c.args, d)
		}
		if strings.Contains(c.args, "list") && d.Bytes != home.Total(d.Entries) {
			t.Errorf("%s: %d bytes of %d", c.args, d.Bytes, home.Total(d.Entries))
		}
	}
}

func TestAListOfTheCacheSaysSinceWhenItIsUnused(t *testing.T) {
	dir := fill(t, map[string]time.Duration{old: month})
	list, err := home.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := clitest.Run(t, Commands(), "cache", "list")
	since := time.Now().Add(month).Format("2006-01-02")
	for _, want := range []string{"samples", strings.Repeat("0a", 8), since, "\n" + progress.BytesText(home.Total(list)) + " in " + dir} {
		if !strings.Contains(o.Stdout, want) {
			t.Errorf("no %q in\n%s", want, o.Stdout)
		}
	}
}

func TestACacheThatIsNoFolderIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MLPERF_CACHE_DIR", file)
	for _, args := range [][]string{{"list"}, {"clear", "-y"}} {
		o := clitest.Run(t, Commands(), append([]string{"cache"}, args...)...)
		if o.Status != cli.ExitError || !strings.HasPrefix(o.Err, "looking at the cache: ") || !strings.Contains(o.Err, file) {
			t.Errorf("%q: status %d: %s%s", args, o.Status, o.Stdout, o.Err)
		}
	}
}
