package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/configs"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/download"
)

// mobilenet is the file of a model of which no checksum is published, so that anything may be it.
const mobilenet = "mobilenet_v1_1.0_224.onnx"

// inData goes to an empty folder, below which data is kept, and returns it.
func inData(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(dir, "data"))
	t.Setenv("MLPERF_CACHE_DIR", filepath.Join(dir, "cache"))
	return dir
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestADryRunSaysWhatWouldComeFromWhere(t *testing.T) {
	dir := inData(t)
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "a data set", Args: []string{"download", "dataset", "coco", "--dry-run"}, Want: []string{
			"dataset coco: COCO 2017", "licence   COCO terms of use, https://cocodataset.org/#termsofuse\n", "folder    " + filepath.Join(dir, "data", "datasets", "coco") + "\n",
			"val2017.zip: 816 MB, MD5 442b8da7639aecaf257c1dceb8ba8c80\n          http"}, Not: []string{"part  ", "enlarged", "by hand"}},
		{Name: "a part of it, enlarged, from a mirror first", Args: []string{"download", "dataset", "COCO", "--dry-run", "--count", "50", "--seed", "3", "--upscale", "1200X800", "--upscale-format", "jpg", "--mirror", "https://files.example.org/m", "--dir", "here"},
			Want: []string{"folder    here\n", "part      50 of 5000 samples, seed 3\n", "enlarged  also a copy of 1200X800 pixels, as jpg\n", "https://files.example.org/m/val2017.zip\n          http://images.cocodataset.org"}},
		{Name: "one by one, from the mirror only", Args: []string{"download", "dataset", "openimages", "--dry-run", "--mirror", "https://files.example.org/m", "--mirror-only"},
			Want: []string{"/*.jpg, one by one\n          https://files.example.org/m/{id}.jpg\n"}, Not: []string{"amazonaws"}},
		{Name: "a model without size or checksum", Args: []string{"download", "model", "mobilenet", "--dry-run"}, Want: []string{mobilenet + ": size not published, no checksum published\n"}},
		{Name: "what wants registration", Args: []string{"download", "dataset", "imagenet", "--dry-run"}, Want: []string{"wants registration", "by hand\n  1. Register at https://www.image-net.org"}},
		{Name: "files of a list", Args: []string{"download", "model", "dlrm-v2", "--dry-run"}, Want: []string{"files     as listed, with MD5, at\n"}},
	})
	if _, err := os.Stat("data"); err == nil {
		t.Error("a dry run made the folder")
	}
}

func TestADryRunAsJSONHasTheItemAndItsLicence(t *testing.T) {
	inData(t)
	o := clitest.Run(t, Commands(), "download", "dataset", "coco", "--dry-run", "--json", "--count", "7")
	var d struct {
		Schema, Folder string
		Count          int
		Licence        download.License
		Item           download.Item
	}
	if err := json.Unmarshal([]byte(o.Stdout), &d); err != nil {
		t.Fatal(err)
	}
	if d.Schema != "mlperf-go/download-plan/1" || d.Count != 7 || d.Licence.Name != "COCO terms of use" || d.Item.Name != "coco" || d.Item.Samples != 5000 {
		t.Errorf("%+v", d)
	}
}

func TestWrongFlagsOfADownloadAreNamedBeforeAnythingIsAsked(t *testing.T) {
	inData(t)
	write(t, "my.onnx", "x")
	coco := func(flags ...string) []string { return append([]string{"download", "dataset", "coco"}, flags...) }
	model := func(flags ...string) []string { return append([]string{"download", "model", "resnet50"}, flags...) }
	var cases []clitest.Case
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"no name", []string{"download", "dataset"}, "dataset: want NAME"},
		{"two names", []string{"download", "dataset", "coco", "squad"}, `unexpected argument "squad"`},
		{"a name that is none", []string{"download", "dataset", "coca"}, `unknown data set "coca"`},
		{"a model's name for a data set", []string{"download", "dataset", "resnet50"}, `unknown data set "resnet50"`},
		{"a verb that is none", []string{"download", "datasets"}, `unknown command "datasets"`},
		{"a part below nothing", coco("--count", "-1"), "--count: -1 samples"},
		{"a part that is more than all", coco("--count", "5001"), "--count: 5001 samples of coco are wanted, it has 5000"},
		{"a part of a model", model("--count", "5"), "unknown flag: --count"},
		{"a size in words", coco("--upscale", "big"), `--upscale is "big", want WIDTHxHEIGHT in pixels`},
		{"a size that goes on", coco("--upscale", "1200x800x3"), `--upscale is "1200x800x3"`},
		{"half a size", coco("--upscale", "1200x"), `--upscale is "1200x"`},
		{"a size with a space", coco("--upscale", "1200 x800"), `--upscale is "1200 x800"`},
		{"a size of more digits than there are", coco("--upscale", "99999999999999999999"), `--upscale is "99999999999999999999"`},
		{"a size below nothing", coco("--upscale", "-1200x-800"), "--upscale: -1200 × -800 pixels are wanted, want 32 to 16384"},
		{"a size that is too large", coco("--upscale", "20000"), "--upscale: 20000 × 20000 pixels are wanted"},
		{"an enlarged copy of another set", []string{"download", "dataset", "squad", "--upscale", "1200"}, "--upscale is for coco, not for squad"},
		{"a format of images that is none", coco("--upscale", "1200", "--upscale-format", "bmp"), `--upscale-format is "bmp", want png or jpg`},
		{"a format of a copy that nobody asked for", coco("--upscale-format", "jpg"), "--upscale-format is of --upscale, which is not given"},
		{"a choice among all", coco("--seed", "5"), "--seed is of --count, which is not given"},
		{"a name with a letter too few", []string{"download", "dataset", "imagent"}, "; did you mean imagenet?"},
		{"requests below nothing", model("--connections", "-1"), "--connections: -1 connections are wanted"},
		{"a mirror that is no address", model("--mirror", "files"), "--mirror: files is not an address of http or https"},
		{"only a mirror, and none", model("--mirror-only"), "--mirror-only: there is no mirror"},
		{"a file that is not there", model("--from-file", "nowhere.onnx"), "--from-file: "},
	} {
		cases = append(cases, clitest.Case{Name: c.name, Args: c.args, Status: cli.ExitUsage, Want: []string{c.want}, Not: []string{"Licence"}})
	}
	clitest.Check(t, Commands, cases)
}

func TestALicenceIsAcceptedOnTheCommandLineWhereNobodyIsThere(t *testing.T) {
	inData(t)
	write(t, "my.onnx", "model")
	o := clitest.Run(t, Commands(), "download", "model", "mobilenet", "--from-file", "my.onnx")
	if want := "accept it with --accept-license"; o.Status != cli.ExitUsage || !strings.Contains(o.Err, want) || !strings.Contains(o.Stderr, "\nLicence: ") {
		t.Errorf("status %d: %s%s", o.Status, o.Stderr, o.Err)
	}
	if _, err := os.Stat("data"); err == nil {
		t.Error("something was fetched")
	}
	t.Setenv("MLPERF_ACCEPT_LICENSE", "true")
	if o = clitest.Run(t, Commands(), "download", "model", "mobilenet", "--from-file", "my.onnx"); o.Status != cli.ExitDone {
		t.Errorf("status %d: %s%s", o.Status, o.Stderr, o.Err)
	}
}

func TestADownloadPrintsWhereItIs(t *testing.T) {
	dir := inData(t)
	write(t, "my.onnx", "model")
	get := []string{"download", "model", "mobilenet", "--accept-license"}
	want := filepath.Join(dir, "data", "models", "mobilenet", mobilenet)
	o := clitest.Run(t, Commands(), append(get, "--from-file", "my.onnx")...)
	if o.Status != cli.ExitDone || o.Stdout != want+"\n" || !strings.Contains(o.Stderr, "done: 1 files, 5 B, in "+filepath.Dir(want)) {
		t.Errorf("status %d, %q, %s%s", o.Status, o.Stdout, o.Stderr, o.Err)
	}
	o = clitest.Run(t, Commands(), append(get, "--json")...)
	var d struct {
		Schema, Kind, Name, Path string
		Already                  bool
	}
	if err := json.Unmarshal([]byte(o.Stdout), &d); err != nil {
		t.Fatalf("%v: %s%s", err, o.Stdout, o.Err)
	}
	if d.Schema != "mlperf-go/download/1" || d.Kind != "model" || d.Name != "mobilenet" || d.Path != want || !d.Already || !strings.Contains(o.Stderr, "already there, with the right checksums") {
		t.Errorf("%+v; it says %s", d, o.Stderr)
	}
	o = clitest.Run(t, Commands(), "verify", "model", "mobilenet", "--json")
	if o.Status != cli.ExitDone || !strings.Contains(o.Stdout, `"problems": []`) || strings.Contains(o.Stdout, "repair") {
		t.Errorf("status %d: %s%s", o.Status, o.Stdout, o.Err)
	}
	o = clitest.Run(t, Commands(), "download", "list", "--json")
	if !strings.Contains(o.Stdout, "\"name\": \"mobilenet\"") || strings.Count(o.Stdout, `"present": true`) != 1 {
		t.Errorf("%s", o.Stdout)
	}
}

func TestAFailedDownloadSaysWhatHelps(t *testing.T) {
	inData(t)
	write(t, "my.onnx", "another")
	absent := httptest.NewServer(http.NotFoundHandler())
	absent.Close() // nobody answers at its address
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "a person has to get it", Args: []string{"download", "dataset", "imagenet", "--accept-license"}, Status: cli.ExitError,
			Want: []string{": a person has to get it:\n  1. Register at", "registration is needed: get ILSVRC2012_img_val.tar by hand, then name it with --from-file"}},
		{Name: "nobody answers", Args: []string{"download", "model", "mobilenet", "--accept-license", "--mirror", absent.URL, "--mirror-only"}, Status: cli.ExitError,
			Want: []string{"--from-file FILE takes a file that you bring, --mirror URL one of a server nearby", "cannot be reached"}},
		{Name: "another file", Args: []string{"download", "model", "resnet50", "--accept-license", "--from-file", "my.onnx"}, Status: cli.ExitError,
			Want: []string{"my.onnx has MD5 ", "want f6a4da60cd5f084d97efc2c1ddb10beb"}},
	})
	write(t, filepath.Join("taken", mobilenet), "what somebody put there")
	o := clitest.Run(t, Commands(), "download", "model", "mobilenet", "--accept-license", "--from-file", "my.onnx", "--dir", "taken")
	if o.Status != cli.ExitError || !strings.HasSuffix(o.Err, "; replace it with --force, or choose another --dir") {
		t.Errorf("something is in the way: status %d: %s", o.Status, o.Err)
	}
	if text, err := os.ReadFile(filepath.Join("taken", mobilenet)); string(text) != "what somebody put there" {
		t.Errorf("it has %q, %v", text, err)
	}
	o = clitest.Run(t, Commands(), "download", "model", "mobilenet", "--accept-license", "--from-file", "my.onnx", "--dir", "taken", "--force")
	if text, err := os.ReadFile(filepath.Join("taken", mobilenet)); o.Status != cli.ExitDone || string(text) != "another" {
		t.Errorf("by force: status %d, %q, %v", o.Status, text, err)
	}
}

func TestWhatAnErrorOfADownloadIsExplainedBy(t *testing.T) {
	it := download.Item{Kind: download.Model, Name: "m", Title: "A model", Steps: []string{"Ask.", "Wait."}}
	for _, c := range []struct {
		name, said, want string
		err              error
	}{
		{"a disk is full", "", ": choose another disk with --dir", &download.NoRoomError{Dir: "d", Need: 5, Free: 3}},
		{"somebody stopped it", "What has come is kept: the same command goes on with it.\n", "interrupted", fmt.Errorf("getting: %w", cli.ErrInterrupted)},
		{"steps for a person", "A model: a person has to get it:\n  1. Ask.\n  2. Wait.\n", ", then name it with --from-file", &download.RegistrationError{Item: it}},
		{"anything else", "", "no", errors.New("no")},
	} {
		var said strings.Builder
		err := explainDownload(&said, it, c.err)
		if said.String() != c.said || !strings.HasSuffix(err.Error(), c.want) || !errors.Is(err, c.err) {
			t.Errorf("%s: it says %q and %v", c.name, said.String(), err)
		}
	}
}

func TestADownloadEndsWithItsContext(t *testing.T) {
	inData(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel(cli.ErrInterrupted)
		<-r.Context().Done()
	}))
	defer server.Close()
	o := clitest.RunContext(ctx, Commands(), "download", "model", "mobilenet", "--accept-license", "--mirror", server.URL, "--mirror-only")
	if o.Status != cli.ExitInterrupted || !strings.Contains(o.Stderr, "the same command goes on with it") {
		t.Errorf("status %d: %s%s", o.Status, o.Stderr, o.Err)
	}
}

func TestNamesOfItemsAreCompletedByKind(t *testing.T) {
	m, err := download.ParseManifest(configs.Downloads())
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for kind, want := range map[download.Kind]string{download.Dataset: "coco\tCOCO 2017", download.Model: "resnet50\tResNet-50 v1.5"} {
		names, directive := itemNames(kind)(nil, nil, "")
		if total += len(names); directive != cobra.ShellCompDirectiveNoFileComp || !strings.Contains(strings.Join(names, "\n"), want) {
			t.Errorf("%s: %q, %v", kind, names, directive)
		}
	}
	if total != len(m.Items) {
		t.Errorf("%d names of %d items", total, len(m.Items))
	}
}
