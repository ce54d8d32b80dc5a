package submit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/submission/description"
)

// described reads a description that was written.
func described(t *testing.T, path string) description.Description {
	t.Helper()
	d, err := description.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestASystemIsDescribedWithWhatFlagsSay(t *testing.T) {
	t.Chdir(t.TempDir())
	o := clitest.Run(t, Commands(), "system", "--submitter", "Org", "--division", "closed", "--system-type", "edge", "--status", "available", "--system-name", "Board 1",
		"--set", "cooling=air", "--set", "framework=a=b", "--set", "cooling=air", "--output", "one.json")
	if o.Status != cli.ExitDone || o.Stdout != "" || !strings.HasPrefix(o.Stderr, "To fill in: ") || strings.Contains(o.Stderr, "cooling") {
		t.Errorf("status %d, %q, %s%s", o.Status, o.Stdout, o.Stderr, o.Err)
	}
	d := described(t, "one.json")
	for field, want := range map[string]string{"submitter": "Org", "division": "closed", "system_type": "edge", "status": "available", "system_name": "Board 1", "cooling": "air", "framework": "a=b"} {
		if d[field] != want {
			t.Errorf("%s is %q, want %q", field, d[field], want)
		}
	}
	o = clitest.Run(t, Commands(), "system", "--from", "one.json", "--division", "network", "--network-end", "loadgen")
	var again description.Description
	if err := json.Unmarshal([]byte(o.Stdout), &again); err != nil {
		t.Fatalf("%v: %s%s", err, o.Stdout, o.Err)
	}
	if again["cooling"] != "air" || again["is_network"] != "true" || again["division"] != "network" || again["submitter"] != "Org" {
		t.Errorf("what an older one has stays: %v", again)
	}
}

func TestADescriptionThatIsThereIsReplacedByForceOnly(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "one.json", "mine")
	o := clitest.Run(t, Commands(), "system", "--output", "one.json")
	if want := "one.json is there already: choose another file, or give --force"; o.Status != cli.ExitError || o.Err != want {
		t.Errorf("status %d: %s, want %s", o.Status, o.Err, want)
	}
	if text, err := os.ReadFile("one.json"); string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
	if o = clitest.Run(t, Commands(), "system", "--output", "one.json", "--force"); o.Status != cli.ExitDone || described(t, "one.json")["number_of_nodes"] != "1" {
		t.Errorf("by force: status %d: %s", o.Status, o.Err)
	}
	if files, err := os.ReadDir("."); err != nil || len(files) != 1 {
		t.Errorf("something else is left: %v, %v", files, err)
	}
}

func TestWrongFlagsOfASystemAreNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "page.html", "<html>")
	write(t, "folder/x", "")
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "a field that is none", Args: []string{"system", "--set", "coolling=air"}, Status: cli.ExitUsage, Want: []string{`a system has no field "coolling"; it has `}},
		{Name: "a field without a value", Args: []string{"system", "--set", "cooling"}, Status: cli.ExitUsage, Want: []string{`--set is "cooling", want FIELD=VALUE`}},
		{Name: "a value without a field", Args: []string{"system", "--set", "=air"}, Status: cli.ExitUsage, Want: []string{`--set is "=air", want FIELD=VALUE`}},
		{Name: "a field with two values", Args: []string{"system", "--set", "cooling=air", "--set", "cooling=water"}, Status: cli.ExitUsage, Want: []string{`--set gives cooling twice: "air" and "water"`}},
		{Name: "a status that is none", Args: []string{"system", "--status", "soon"}, Status: cli.ExitUsage, Want: []string{`status is "soon", want one of available preview rdi`}},
		{Name: "a division that is none", Args: []string{"system", "--division", "mixed"}, Status: cli.ExitUsage, Want: []string{`"mixed"`}},
		{Name: "an end that is none", Args: []string{"system", "--network-end", "middle"}, Status: cli.ExitUsage, Want: []string{`--network-end is "middle", want one of sut loadgen`}},
		{Name: "an older one that is not there", Args: []string{"system", "--from", "nowhere.json"}, Status: cli.ExitError, Want: []string{"nowhere.json"}},
		{Name: "an older one that is none", Args: []string{"system", "--from", "page.html"}, Status: cli.ExitError, Want: []string{"page.html"}},
		{Name: "a folder in its place", Args: []string{"system", "--output", "folder", "--force"}, Status: cli.ExitError, Want: []string{"folder"}},
		{Name: "a run that is none", Args: []string{"system", "--result", "folder"}, Status: cli.ExitError, Want: []string{"folder"}},
		{Name: "an argument", Args: []string{"system", "x"}, Status: cli.ExitUsage, Want: []string{`unexpected argument "x"`}},
	})
}

func TestTheWayToASystemIsReadFromARun(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, results, want string
		link                description.Link
	}{
		{"a run of servers", `{"schema": "mlperf-go/results/1", "result": "VALID", "remote": {"endpoints": [{"url": "grpc://a:1"}, {"url": "http://b"}]}, "backend": {"facts": {"concurrency": "64"}}}`, "",
			description.Link{Endpoints: []string{"grpc://a:1", "http://b"}, Connections: 64}},
		{"a run on this machine", `{"schema": "mlperf-go/results/1", "result": "VALID"}`, "no server was asked in this run", description.Link{}},
		{"a run that does not say how many", `{"schema": "mlperf-go/results/1", "result": "VALID", "remote": {"endpoints": [{"url": "http://b"}]}}`, `the backend's concurrency is "", want a number`, description.Link{Endpoints: []string{"http://b"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := filepath.Dir(write(t, filepath.Join(dir, c.name, "results.json"), c.results))
			l, err := linkOf(run)
			if diff := cmp.Diff(c.link, l); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err == nil) != (c.want == "") || err != nil && err.Error() != run+": "+c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	if l, err := linkOf(""); err != nil || len(l.Endpoints) > 0 {
		t.Errorf("without a run: %v, %v", l, err)
	}
}
