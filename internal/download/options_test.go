package download

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestOptionsThatMakeNoSenseAreErrorsBeforeAnythingIsDone(t *testing.T) {
	_, plain := plainItem(File{Name: "m.onnx", URLs: []string{"http://unreachable.invalid/m.onnx"}})
	parts := plain
	parts.Layout, parts.Samples = LayoutCOCO, 10
	dir := filepath.Join(t.TempDir(), "item")
	for name, c := range map[string]struct {
		it           Item
		o            Options
		field, wrong string
	}{
		"no folder":                  {plain, Options{}, "dir", "no folder"},
		"a part of what has none":    {plain, Options{Dir: dir, Count: 1}, "count", "cannot be had in part"},
		"a negative part":            {parts, Options{Dir: dir, Count: -1}, "count", "-1 samples are wanted"},
		"a part that is too large":   {parts, Options{Dir: dir, Count: 11}, "count", "it has 10"},
		"a negative number":          {plain, Options{Dir: dir, Connections: -4}, "connections", "-4 connections"},
		"a mirror that is a file":    {plain, Options{Dir: dir, Mirror: "file:///srv/mirror"}, "mirror", "file:///srv/mirror is not an address of http or https"},
		"a mirror that is a folder":  {plain, Options{Dir: dir, Mirror: "/srv/mirror"}, "mirror", "not an address"},
		"a mirror with a password":   {plain, Options{Dir: dir, Mirror: "ftp://me:hidden@example.org"}, "mirror", "ftp://me:xxxxx@example.org"},
		"a mirror with a signature":  {plain, Options{Dir: dir, Mirror: "https://example.org/x?sig=hidden"}, "mirror", "https://example.org/x?… has a query or a fragment"},
		"only a mirror that is none": {plain, Options{Dir: dir, MirrorOnly: true}, "mirror_only", "no mirror"},
		"a file that is not there":   {plain, Options{Dir: dir, FromFiles: []string{"nowhere.onnx"}}, "from_file", "nowhere.onnx"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Get(t.Context(), manifestOf(c.it), c.it, c.o)
			var option *userinput.Error
			if !errors.As(err, &option) || option.Field != c.field || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("Get = %v, want %q about %s", err, c.wrong, c.field)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("the folder was made")
			}
		})
	}
}

// special returns paths that are neither files nor folders. Reading one would wait for
// ever, or never end.
func special(t *testing.T) []string {
	t.Helper()
	pipe := filepath.Join(t.TempDir(), "m.onnx")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Skip("there are no such files: ", err)
	}
	return []string{pipe, "/dev/zero"}
}

func TestWhatIsNeitherFileNorFolderIsNotOpened(t *testing.T) {
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{"http://unreachable.invalid/m.onnx"}})
	for _, path := range special(t) {
		o, _ := options(t)
		o.FromFiles = []string{path}
		_, err := Get(t.Context(), manifestOf(it), it, o)
		if !errors.As(err, new(*userinput.Error)) || !strings.Contains(err.Error(), path+" is neither a file nor a folder") {
			t.Errorf("Get = %v, want that %s is neither a file nor a folder", err, path)
		}
	}
}

func TestAPipeInAnItemsFolderIsNotOpened(t *testing.T) {
	data := randomBytes(testChunk)
	s := newServer(t)
	s.put("m.onnx", data)
	s.put("x.tar", tarOf(t, entry{name: "m.onnx", data: "x"}))
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}})
	_, packed := plainItem(File{Name: "x.tar", URLs: []string{s.URL + "/x.tar"}, Unpack: &Unpack{Format: "tar"}})
	for name, it := range map[string]Item{"for a file": it, "for an entry": packed} {
		o, _ := options(t)
		pipe := special(t)[0]
		o.Dir = filepath.Dir(pipe)
		_, err := Get(t.Context(), manifestOf(it), it, o)
		if !errors.As(err, new(*InTheWayError)) || !strings.Contains(err.Error(), "it is not a file") {
			t.Errorf("%s: Get = %v, want that a pipe is in the way", name, err)
		}
		if name == "for a file" {
			r, err := Verify(t.Context(), it, VerifyOptions{Dir: o.Dir})
			if err != nil || r.OK() {
				t.Errorf("Verify = %+v, %v; want that the pipe is a problem", r, err)
			}
		}
	}
}
