package cli

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/submission/description"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestAssignments(t *testing.T) {
	for _, c := range []struct {
		given, wrong string
		want         map[string]string
	}{
		{"cooling=air framework=a=b=c os=", "", map[string]string{"cooling": "air", "framework": "a=b=c", "os": ""}},
		{"a=1 a=1", "", map[string]string{"a": "1"}},
		{"a=1 b=2 a=3", `--set … a … "1" … "3"`, nil},
		{"cooling", `--set … "cooling" … FIELD=VALUE`, nil},
		{"=air", `--set … "=air" … FIELD=VALUE`, nil},
	} {
		got, err := assignments("set", strings.Fields(c.given))
		if c.wrong != "" && (statusOf(err) != ExitUsage || !testenv.Names(err, c.wrong)) || c.wrong == "" && (err != nil || !maps.Equal(got, c.want)) {
			t.Errorf("%s: %v, %v, want %v%s", c.given, got, err, c.want, c.wrong)
		}
	}
}

func TestLinkOf(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		results, want string
		link          description.Link
	}{
		{`{"schema": "mlperf-go/results/2", "result": "VALID", "remote": {"endpoints": [{"url": "grpc://a:1"}, {"url": "http://b"}]}, "backend": {"facts": {"concurrency": "64"}}}`, "",
			description.Link{Endpoints: []string{"grpc://a:1", "http://b"}, Connections: 64}},
		{`{"schema": "mlperf-go/results/2", "result": "VALID"}`, dir + " … server", description.Link{}},
		{`{"schema": "mlperf-go/results/2", "result": "VALID", "remote": {"endpoints": [{"url": "http://b"}]}}`, dir + ` … concurrency … "" … number`, description.Link{Endpoints: []string{"http://b"}}},
	} {
		write(t, filepath.Join(dir, "results.json"), c.results)
		l, err := linkOf(dir)
		if diff := cmp.Diff(c.link, l); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if !testenv.Names(err, c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// Flags go before the fields of the description that build reads.
func TestBuildDescription(t *testing.T) {
	dir := t.TempDir()
	testenv.Extract(t, "../submission/checker/testdata/v6.1.tar.gz", filepath.Join(dir, "submission"))
	t.Chdir(dir)
	mlperf(t, "system", "--submitter", "ExampleOrg", "--division", "closed", "--system-type", "edge", "--status", "available", "--output", "board1.json")
	o := mlperf(t, "submission", "build", "tree", "submission", "--description", "board1.json", "--system", "board1", "--model", "resnet50", "--set", "cooling=air", "--system-name", "Renamed")
	d, err := description.Read("tree/closed/ExampleOrg/systems/board1.json")
	if err != nil || o.status != ExitInvalid || d["cooling"] != "air" || d["system_name"] != "Renamed" || d["status"] != "available" {
		t.Errorf("status %d, %v: %v\n%s%s", o.status, err, d, o.stdout, o.stderr)
	}
}
