//go:build unix

package ort

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/adrg/xdg"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// These tests run scripts/install_onnxruntime.sh with their own server, a made-up version and package, and few programs on the
// PATH.

const madeUpVersion = "9.9.9"

// A site stands for the npm registry and the project's releases.
type site struct {
	*httptest.Server
	content
	mu       sync.Mutex
	requests []string // path and range
}

// content is what a site answers with.
type content struct {
	npm    []byte // the package; nil: not found
	github []byte // the archive; nil: not found
	pypi   []byte // the wheel; nil: not found
	limits []int  // of the next answers: break off after so many bytes; negative: then wait
}

// library is what the package holds.
var library = sync.OnceValue(func() []byte {
	data := make([]byte, 400_000)
	rand.NewChaCha8([32]byte{1}).Read(data)
	return data
})

var npmPackage = sync.OnceValue(func() []byte {
	path := "package/bin/napi-v6/" + filepath.ToSlash(nodePlatform()) + "/libonnxruntime.so.1"
	return archive(path, library(), "package/rest", bytes.Repeat(library(), 3))
})

// githubArchive holds one file in the place of the library, its name beginning with a prefix.
func githubArchive(prefix string, file []byte) []byte {
	name := map[string]string{"amd64": "x64", "arm64": "aarch64"}[runtime.GOARCH]
	return archive(prefix+"onnxruntime-linux-"+name+"-9.9.9/lib/libonnxruntime.so.9.9.9", file)
}

// archive is a tar of names and contents in turn, in gzip's format.
func archive(members ...any) []byte {
	var b bytes.Buffer
	compressed, _ := gzip.NewWriterLevel(&b, gzip.NoCompression)
	file := tar.NewWriter(compressed)
	for i := 0; i < len(members); i += 2 {
		content := members[i+1].([]byte)
		header := &tar.Header{Name: members[i].(string), Mode: 0o644, Size: int64(len(content))}
		if err := errors.Join(file.WriteHeader(header), second(file.Write(content))); err != nil {
			panic(err)
		}
	}
	if err := errors.Join(file.Close(), compressed.Close()); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func second(_ int, err error) error { return err }

// wheel holds one file in the place of the library.
func wheel(file []byte) []byte {
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	w, err := archive.Create("onnxruntime/capi/libonnxruntime.so." + pinnedVersion)
	if err == nil {
		err = second(w.Write(file))
	}
	if err := errors.Join(err, archive.Close()); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	limit := s.note(r)
	var file []byte
	switch {
	case strings.HasPrefix(r.URL.Path, "/onnxruntime-node/-/onnxruntime-node-"+madeUpVersion):
		file = s.npm
	case strings.HasPrefix(r.URL.Path, "/releases/v"+madeUpVersion):
		file = s.github
	case strings.HasPrefix(r.URL.Path, "/packages/") && strings.Contains(r.URL.Path, "/onnxruntime-"+pinnedVersion+"-"):
		file = s.pypi
	}
	if file == nil {
		http.NotFound(w, r)
		return
	}
	if limit == 0 {
		http.ServeContent(w, r, "x.tgz", time.Time{}, bytes.NewReader(file))
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(file)))
	w.Write(file[:max(limit, -limit)])
	w.(http.Flusher).Flush()
	if limit < 0 {
		<-r.Context().Done()
	}
	panic(http.ErrAbortHandler)
}

// asked returns the requests until now.
func (s *site) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *site) note(r *http.Request) (limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Range")))
	if len(s.limits) > 0 {
		limit, s.limits = s.limits[0], s.limits[1:]
	}
	return limit
}

// A user runs the script with a PATH and a data directory of its own.
type user struct {
	t         *testing.T
	site      *site
	bin, data string
}

func newUser(t *testing.T, c content) *user {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the made-up package is for Linux")
	}
	s := &site{content: c}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	u := &user{t, s, t.TempDir(), filepath.Join(t.TempDir(), "data")}
	for _, name := range strings.Fields("sh uname mkdir rm mv cat tee touch wc tr awk df sed grep head chmod sha256sum tar gzip unzip sleep flock curl") {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("%s is not installed", name)
		}
		testenv.Must(t, os.Symlink(path, filepath.Join(u.bin, name)))
	}
	return u
}

// program puts a shell script on the PATH; an empty one removes a program.
func (u *user) program(name, text string) {
	u.t.Helper()
	path := filepath.Join(u.bin, name)
	os.Remove(path)
	if text == "" {
		return
	}
	testenv.Must(u.t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755))
}

func (u *user) command(args ...string) *exec.Cmd {
	script, err := filepath.Abs("../../../scripts/install_onnxruntime.sh")
	if err != nil {
		u.t.Fatal(err)
	}
	command := exec.Command(script, append([]string{"--version", madeUpVersion}, args...)...)
	command.Env = []string{"PATH=" + u.bin, "MLPERF_DATA_DIR=" + u.data, "HOME=" + u.data,
		"NPM_CONFIG_REGISTRY=" + u.site.URL, "ONNXRUNTIME_RELEASES=" + u.site.URL + "/releases", "ONNXRUNTIME_WHEELS=" + u.site.URL + "/packages"}
	return command
}

// sum is the checksum of the library.
func (u *user) sum() string { return fmt.Sprintf("--sha256=%x", sha256.Sum256(library())) }

// run runs the script to its end.
func (u *user) run(args ...string) (output string, status int) {
	u.t.Helper()
	out, err := u.command(args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		u.t.Fatal(err)
	}
	if exit != nil {
		status = exit.ExitCode()
	}
	return string(out), status
}

// install runs the script, which must succeed, and checks that it leaves the library and nothing else.
func (u *user) install(args ...string) (output string) {
	u.t.Helper()
	output, status := u.run(append([]string{u.sum()}, args...)...)
	if status != 0 {
		u.t.Fatalf("exit status %d: %s", status, output)
	}
	got, err := os.ReadFile(u.target())
	if err != nil || !bytes.Equal(got, library()) {
		u.t.Errorf("the library is not installed: %v", err)
	}
	var names []string
	files, _ := os.ReadDir(filepath.Dir(u.target()))
	for _, f := range files {
		names = append(names, f.Name())
	}
	if want := []string{".lock", "libonnxruntime.so.1", "libonnxruntime.so.1.sha256"}; !slices.Equal(names, want) {
		u.t.Errorf("the directory holds %q, want %q", names, want)
	}
	return output
}

func (u *user) target() string {
	return filepath.Join(u.data, "onnxruntime", madeUpVersion, runtime.GOOS+"-"+runtime.GOARCH, "libonnxruntime.so.1")
}

func TestInstallScript(t *testing.T) {
	testenv.SkipLong(t, "takes long")
	t.Parallel()
	u := newUser(t, content{npm: npmPackage()})
	if out := u.install(); !strings.Contains(out, "installed ONNX Runtime 9.9.9: "+u.target()) {
		t.Error(out)
	}
	asked := len(u.site.asked())
	if out := u.install(); out != "already installed: "+u.target()+"\n" || len(u.site.asked()) != asked {
		t.Errorf("the second run made %d more requests: %s", len(u.site.asked())-asked, out)
	}
	if out, status := u.run("--print-path"); status != 0 || out != u.target()+"\n" {
		t.Errorf("--print-path: exit status %d: %s", status, out)
	}
	testenv.Must(t, os.WriteFile(u.target(), []byte("damaged"), 0o644))
	if out := u.install(); !strings.Contains(out, "installed ONNX Runtime") {
		t.Errorf("with a damaged library: %s", out)
	}
}

func TestInstallScriptPlace(t *testing.T) {
	u := newUser(t, content{npm: npmPackage()})
	t.Cleanup(xdg.Reload)
	t.Setenv("MLPERF_DATA_DIR", u.data)
	dir, err := installDir(madeUpVersion)
	if err != nil || filepath.Join(dir, "libonnxruntime.so.1") != u.target() {
		t.Errorf("installDir = %s, %v, the script installs %s", dir, err, u.target())
	}
	for _, env := range [][2]string{{"XDG_DATA_HOME", "/somewhere"}, {"XDG_DATA_HOME", "relative"}, {"XDG_DATA_HOME", ""}} {
		t.Setenv("MLPERF_DATA_DIR", "")
		t.Setenv("HOME", "/home/me")
		t.Setenv(env[0], env[1])
		xdg.Reload()
		command := u.command("--print-path")
		command.Env = []string{"PATH=" + u.bin, "HOME=/home/me", env[0] + "=" + env[1]}
		out, err := command.Output()
		dir, goErr := installDir(madeUpVersion)
		if err != nil || goErr != nil || string(out) != filepath.Join(dir, "libonnxruntime.so.1")+"\n" {
			t.Errorf("%v: installDir = %s, %v, the script says %s %v", env, dir, goErr, out, err)
		}
	}
}

func TestConcurrentInstallScripts(t *testing.T) {
	t.Parallel()
	u := newUser(t, content{npm: npmPackage()})
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			if out, status := u.run(u.sum(), "--source", "npm"); status != 0 {
				t.Errorf("exit status %d: %s", status, out)
			}
		})
	}
	group.Wait()
	u.install() // finds it
	if len(u.site.asked()) != 1 {
		t.Errorf("requests were %q, want one", u.site.asked())
	}
}

func TestInstallScriptResumes(t *testing.T) {
	testenv.SkipLong(t, "waits for downloads")
	t.Parallel()
	u := newUser(t, content{npm: npmPackage(), limits: []int{200_000}})
	u.install("--source", "npm")
	want := "/onnxruntime-node/-/onnxruntime-node-9.9.9.tgz"
	if !slices.Equal(u.site.asked(), []string{want, want + " bytes=200000-"}) {
		t.Errorf("requests were %q, want the rest to be asked for", u.site.asked())
	}
}

func TestInstallScriptResumesKilledRun(t *testing.T) {
	t.Parallel()
	u := newUser(t, content{npm: npmPackage(), limits: []int{-200_000}}) // then it hangs
	command := u.command(u.sum(), "--source", "npm")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	testenv.Must(t, command.Start())
	part := filepath.Join(filepath.Dir(u.target()), ".download.npm")
	waitFor(t, func() bool { info, err := os.Stat(part); return err == nil && info.Size() > 150_000 })
	testenv.Must(t, syscall.Kill(-command.Process.Pid, syscall.SIGKILL))
	command.Wait()
	info, err := os.Stat(part)
	if err != nil {
		t.Fatal(err)
	}
	u.install("--source", "npm")
	if last := u.site.asked()[len(u.site.asked())-1]; !strings.HasSuffix(last, fmt.Sprintf(" bytes=%d-", info.Size())) {
		t.Errorf("the second run asked for %q, want the rest after %d bytes", last, info.Size())
	}
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatal("the download does not begin")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestInstallScriptWithOldPart(t *testing.T) {
	t.Parallel()
	u := newUser(t, content{npm: npmPackage()})
	part := filepath.Join(filepath.Dir(u.target()), ".download.npm")
	testenv.Must(t, os.MkdirAll(filepath.Dir(part), 0o755))
	testenv.Must(t, os.WriteFile(part, make([]byte, 5000), 0o644))
	u.install("--source", "npm")
}

func TestInstallScriptPrefersRelease(t *testing.T) {
	testenv.SkipLong(t, "waits for downloads")
	t.Parallel()
	for _, prefix := range []string{"", "./"} {
		u := newUser(t, content{npm: npmPackage(), github: githubArchive(prefix, library()), limits: []int{100_000}})
		u.install()
		if len(u.site.asked()) != 2 || !strings.HasPrefix(u.site.asked()[1], "/releases/v9.9.9/onnxruntime-linux-") {
			t.Errorf("requests were %q, want two for the project's archive", u.site.asked())
		}
	}
}

func TestInstallScriptRefusesOtherLibrary(t *testing.T) {
	t.Parallel()
	u := newUser(t, content{npm: npmPackage(), github: githubArchive("", []byte("something else"))})
	u.install()
}

func TestInstallScriptByWheel(t *testing.T) {
	t.Parallel()
	u := newUser(t, content{pypi: wheel(library())})
	version := []string{"--version", pinnedVersion, "--dir", filepath.Dir(u.target())}
	u.install(version...)
	testenv.Must(t, os.RemoveAll(u.data))
	out, status := u.run(append(version, "--source", "pypi")...) // the real one is expected
	if status != 1 || !strings.Contains(out, "pypi: not the file whose checksum is known") {
		t.Errorf("a wheel with another checksum: exit status %d: %s", status, out)
	}
	u.program("unzip", "")
	if out, status = u.run(append(version, u.sum())...); status != 1 || !strings.Contains(out, "pypi: unzip is not installed") {
		t.Errorf("without unzip: exit status %d: %s", status, out)
	}
}

func TestInstallScriptByNpm(t *testing.T) {
	t.Parallel()
	u := newUser(t, content{}) // a registry that wants credentials, say
	packed := filepath.Join(t.TempDir(), "packed.tgz")
	testenv.Must(t, os.WriteFile(packed, npmPackage(), 0o644))
	u.program("npm", `case $1 in
config) echo `+u.site.URL+`/ ;;
pack) cat `+packed+` >onnxruntime-node-9.9.9.tgz ;;
esac
`)
	if out := u.install(); !strings.Contains(out, "npm pack onnxruntime-node@9.9.9") {
		t.Error(out)
	}
	u.program("curl", "")
	testenv.Must(t, os.RemoveAll(u.data))
	u.install()
}

func TestInstallScriptErrors(t *testing.T) {
	t.Parallel()
	nothing, whole := strings.Repeat("0", 64), content{npm: npmPackage()}
	for _, test := range []struct {
		name   string
		site   content
		set    func(*user)
		args   []string
		status int
		want   []string
	}{
		{"unknown argument", whole, nil, []string{"--fast"}, 2, []string{"unknown argument: --fast", "try --help"}},
		{"missing value", whole, nil, []string{"--dir"}, 2, []string{"--dir needs a value"}},
		{"unknown source", whole, nil, []string{"--source", "ftp"}, 2, []string{"unknown source: ftp (auto, github, npm, pypi)"}},
		{"version without checksum", whole, nil, nil, 1, []string{"no checksum is known for version 9.9.9", "--sha256"}},
		{"wrong checksum", whole, nil, []string{"--sha256", nothing}, 1, []string{"could not get ONNX Runtime 9.9.9", "has the SHA-256 ", ", not " + nothing, "MLPERF_ORT_LIB=/path/to/"}},
		{"package without the library", content{npm: archive("package/readme", []byte("hello"))}, nil, []string{"--sha256", nothing}, 1, []string{"npm: the package has no package/bin/napi-v6/"}},
		{"not found", content{}, nil, []string{"--sha256", nothing}, 1, []string{"github: ", "npm: ", "404"}},
		{"no network", whole, func(u *user) { u.site.Close() }, []string{"--sha256", nothing}, 1, []string{"github: no connection", "npm: no connection"}},
		{"no curl and no npm", whole, func(u *user) { u.program("curl", "") }, []string{"--sha256", nothing}, 1, []string{"neither curl nor npm is installed", "apt-get install curl"}},
		{"no program for checksums", whole, func(u *user) { u.program("sha256sum", "") }, []string{"--sha256", nothing}, 1, []string{"no sha256sum, shasum or openssl"}},
		{"full disk", whole, func(u *user) { u.program("df", "echo head; echo disk 100 50 50 50% /") }, []string{"--sha256", nothing}, 1, []string{"has 0 MB free, 120 MB are needed"}},
		{"disk full on the way", whole, func(u *user) { u.program("tee", "cat >/dev/null; echo 'tee: x: No space left on device' >&2") }, []string{"--sha256", nothing}, 1, []string{"is full: free 120 MB"}},
		{"other machine", whole, func(u *user) { u.program("uname", `case $1 in -s) echo SunOS ;; *) echo sparc ;; esac`) }, []string{"--sha256", nothing}, 1, []string{"no ready-made ONNX Runtime 9.9.9 for SunOS on sparc", "MLPERF_ORT_LIB"}},
		{"no directory possible", whole, nil, []string{"--sha256", nothing, "--dir", "/dev/null/x"}, 1, []string{"cannot make the directory /dev/null/x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t, test.site)
			if test.set != nil {
				test.set(u)
			}
			out, status := u.run(test.args...)
			if status != test.status {
				t.Errorf("exit status %d, want %d", status, test.status)
			}
			for _, want := range test.want {
				if !strings.Contains(out, want) {
					t.Errorf("the output lacks %q:\n%s", want, out)
				}
			}
			if _, err := os.Stat(u.target()); err == nil {
				t.Error("something was installed")
			}
		})
	}
}

func TestInstallScriptHelp(t *testing.T) {
	t.Parallel()
	u := newUser(t, content{npm: npmPackage()})
	out, status := u.run("--help")
	if status != 0 || !strings.Contains(out, "Usage: install_onnxruntime.sh") || !strings.Contains(out, pinnedVersion) {
		t.Errorf("exit status %d: %s", status, out)
	}
}
