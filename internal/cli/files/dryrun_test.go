package files

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/configs"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/download"
)

// TestEveryItemSaysWhatWouldComeUnderWhichLicence, from where, and by which steps if a person has to get it.
func TestEveryItemSaysWhatWouldComeUnderWhichLicence(t *testing.T) {
	inData(t)
	m, err := download.ParseManifest(configs.Downloads())
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range m.Items {
		asked := &downloadOptions{}
		if _, err := asked.prepare(it); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := showItem(&b, m, it, asked); err != nil {
			t.Fatal(err)
		}
		license := m.LicenseOf(it)
		want := append([]string{it.Title, "licence   " + license.Name + ", " + license.URL, "folder    "}, it.Steps...)
		for _, f := range it.Files {
			if f.R2 == "" {
				want = append(want, "file      "+f.Name+": ")
			}
		}
		for _, text := range want {
			if !strings.Contains(b.String(), text) {
				t.Errorf("%s %s: no %q in\n%s", it.Kind, it.Name, text, b.String())
			}
		}
		if byHand := strings.Contains(b.String(), "\nby hand\n"); byHand != (len(it.Steps) > 0) {
			t.Errorf("%s %s: by hand %v, and there are %d steps", it.Kind, it.Name, byHand, len(it.Steps))
		}
	}
}

// TestTheListOfDownloadsHasEachItemOnce, with whether a person has to get it.
func TestTheListOfDownloadsHasEachItemOnce(t *testing.T) {
	inData(t)
	m, err := download.ParseManifest(configs.Downloads())
	if err != nil {
		t.Fatal(err)
	}
	o := clitest.Run(t, Commands(), "download", "list", "--json")
	var list struct {
		Schema string
		Rows   []downloadRow
	}
	if err := json.Unmarshal([]byte(o.Stdout), &list); err != nil || list.Schema != "mlperf-go/download-list/1" || len(list.Rows) != len(m.Items) {
		t.Fatalf("%s: %d rows, %v, want %d", list.Schema, len(list.Rows), err, len(m.Items))
	}
	table := clitest.Run(t, Commands(), "download", "list").Stdout
	for i, it := range m.Items {
		row := list.Rows[i]
		if access := map[bool]string{true: "by hand", false: "free"}[len(it.Steps) > 0]; row.Kind != string(it.Kind) || row.Name != it.Name || row.Access != access || row.Present || row.License != m.LicenseOf(it).Name {
			t.Errorf("row %d: %+v, of %s %s, %s", i+1, row, it.Kind, it.Name, access)
		}
		if !strings.Contains(table, " "+it.Name+" ") {
			t.Errorf("the table has no %s", it.Name)
		}
	}
}

// TestAFileIsDescribedByWhatItsPublisherSays of it: its size and the best of its checksums, or that there is none.
func TestAFileIsDescribedByWhatItsPublisherSays(t *testing.T) {
	const sha, md5 = "aa", "bb"
	for _, c := range []struct {
		name string
		file download.File
		o    download.Options
		want string
	}{
		{"all of it", download.File{Name: "a", Size: 5, SHA256: sha, MD5: md5, URLs: []string{"https://h/a"}}, download.Options{}, "file      a: 5 B, SHA-256 aa\n          https://h/a\n"},
		{"an older checksum", download.File{Name: "a", Size: 2e9, MD5: md5, URLs: []string{"https://h/a"}}, download.Options{}, "file      a: 2.00 GB, MD5 bb\n          https://h/a\n"},
		{"nothing", download.File{Name: "a", URLs: []string{"https://h/a", "https://i/a"}}, download.Options{}, "file      a: size not published, no checksum published\n          https://h/a\n          https://i/a\n"},
		{"from a mirror first", download.File{Name: "a", URLs: []string{"https://h/a"}}, download.Options{Mirror: "http://near/d"}, "file      a: size not published, no checksum published\n          http://near/d/a\n          https://h/a\n"},
		{"from a mirror alone", download.File{Name: "a", URLs: []string{"https://h/a"}}, download.Options{Mirror: "http://near/d", MirrorOnly: true}, "file      a: size not published, no checksum published\n          http://near/d/a\n"},
	} {
		var b strings.Builder
		if showFile(&b, c.file, c.o); b.String() != c.want {
			t.Errorf("%s:\n%swant\n%s", c.name, b.String(), c.want)
		}
	}
	var b strings.Builder
	showFile(&b, download.File{Name: "a", Registration: true, URLs: []string{"https://h/a"}}, download.Options{})
	if !strings.Contains(b.String(), "wants registration\n          https://h/a\n") {
		t.Errorf("what a person gets: %s", b.String())
	}
}

// A full writer is a disk without room.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestWhatCannotBePrintedIsAnError of every verb that prints what it found.
func TestWhatCannotBePrintedIsAnError(t *testing.T) {
	inData(t)
	write(t, "data/models/mobilenet/"+mobilenet, "x")
	for _, args := range [][]string{
		{"download", "list"}, {"download", "list", "--json"}, {"download", "model", "resnet50", "--dry-run"}, {"download", "model", "resnet50", "--dry-run", "--json"},
		{"cache", "list"}, {"cache", "list", "--json"}, {"cache", "clear"}, {"cache", "clear", "--json"}, {"verify", "model", "mobilenet"}, {"verify", "model", "mobilenet", "--json"},
	} {
		for _, cmd := range Commands() {
			if cmd.Name() != args[0] {
				continue
			}
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cli.DefineProgress(cmd.PersistentFlags())
			cmd.SetOut(full{})
			cmd.SetErr(&strings.Builder{})
			cmd.SetArgs(args[1:])
			if err := cmd.ExecuteContext(t.Context()); !errors.Is(err, errFull) {
				t.Errorf("%q: %v, want %v", args, err, errFull)
			}
		}
	}
}
