package ort

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine/home"
)

// minVersion is the oldest ONNX Runtime that the binding can use: it asks for version 24 of the C API.
const minVersion = "1.24"

// pinnedVersion is the version that scripts/install_onnxruntime.sh and mlperf doctor --fix install.
const pinnedVersion = "1.24.3"

// LibraryVariable names the environment variable that points to the library.
const LibraryVariable = "MLPERF_ORT_LIB"

// A Library is a file that can be loaded.
type Library struct {
	Path    string // absolute, links resolved
	Version string // empty if the file does not tell
	Where   string // which rule of the search found it, in words
}

// A Candidate is a place where Search looked for the library.
type Candidate struct {
	Path    string
	Where   string // which rule of the search it belongs to
	Version string // if it is ONNX Runtime and tells
	Chosen  bool
	Reason  string // why it was not chosen; empty if it was
}

// A NotFoundError says that Search found no library. Its text says how to get one.
type NotFoundError struct{ Candidates []Candidate }

func (e *NotFoundError) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap returns the lines of the text.
func (e *NotFoundError) Unwrap() []error {
	lines := []error{errors.New("no usable ONNX Runtime library found")}
	for _, c := range e.Candidates {
		if c.Reason != noSuchFile {
			lines = append(lines, fmt.Errorf("  %s (%s): %s", c.Path, c.Where, c.Reason))
		}
	}
	return append(lines, errRemedy)
}

// Remedy is the command that gets the library.
const Remedy = "mlperf doctor --fix"

var errRemedy = errors.New("Run: " + Remedy)

const noSuchFile = "no such file"

// SameFile is the reason of a candidate that is another name of one before.
const SameFile = "the same file as one before"

// A Search looks for the library. The zero Search follows the rules for this process and machine; the fields exist for tests
// and for the flag of the command line.
type Search struct {
	Explicit   string // named by the user
	Device     string // as in backend.Options; a library that was installed for one of these comes first
	Executable string // path of the program; empty: os.Executable
	WorkDir    string // folder with node_modules; empty: the current one
	Root       string // put before the system's own folders
}

// Find returns the first library that this program can use, in this order: the flag, the environment variable, the Python
// environment that pip installed the program into, beside the program, our data directory, other Python environments, an installed
// onnxruntime-node, the system's folders, the loader's folders. Where a library for the wanted device was installed, it looks first.
// It also returns all places that it looked at, in order.
//
// If the flag or the variable is set, Find tries nothing else: a user who names a file does not want another one silently.
func (s Search) Find() (Library, []Candidate, error) {
	if s.Explicit != "" {
		return explicit(s.Explicit, "the option ort-lib")
	}
	if path := os.Getenv(LibraryVariable); path != "" {
		return explicit(path, LibraryVariable)
	}
	var found Library
	var all []Candidate
	seen := map[string]bool{} // lib64 may be a link to lib
	for _, place := range s.places() {
		for _, path := range place.files() {
			library, err := try(path, place.where)
			c := Candidate{Path: path, Where: place.where, Version: library.Version}
			switch {
			case err != nil:
				c.Reason = reason(err)
			case seen[library.Path]:
				c.Reason = SameFile
			case found.Path != "":
				c.Reason = "another was found before it"
			default:
				found, c.Chosen = library, true
			}
			seen[library.Path] = err == nil
			all = append(all, c)
		}
	}
	if found.Path == "" {
		return Library{}, all, &NotFoundError{Candidates: all}
	}
	return found, all, nil
}

// Open loads the library that Find returns. Its file may be named; empty: the installed one. Device is as in
// backend.Options. With a pool, all sessions share its threads.
func Open(file, device string, pool *Pool) (*Engine, error) {
	library, _, err := Search{Explicit: file, Device: device}.Find()
	var none *NotFoundError
	switch {
	case errors.As(err, &none):
		return nil, err // it says what to do
	case err != nil:
		return nil, errors.Join(err, errRemedy)
	}
	return New(library, pool)
}

// explicit tries the file that the user names.
func explicit(path, where string) (Library, []Candidate, error) {
	library, err := try(path, where)
	c := Candidate{Path: path, Where: where, Version: library.Version, Chosen: err == nil}
	if err != nil {
		c.Reason = reason(err)
		err = fmt.Errorf("ONNX Runtime library %s (from %s): %s", path, where, c.Reason)
		return Library{}, []Candidate{c}, err
	}
	return library, []Candidate{c}, nil
}

// try probes one file. It resolves links first: ONNX Runtime looks for the libraries of its devices beside the path that it
// was loaded from, and those lie beside the real file.
func try(path, where string) (Library, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Library{}, err
	}
	if real, err = filepath.Abs(real); err != nil {
		return Library{}, err
	}
	p, err := probe(real)
	if err != nil {
		return Library{Version: p.version}, err
	}
	return Library{Path: real, Version: p.version, Where: where}, p.fits()
}

// reason says in a few words why a file is not the library.
func reason(err error) string {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return noSuchFile
	case errors.As(err, &path):
		return path.Err.Error()
	}
	return err.Error()
}

// A place is a folder to look into. Files of the wanted version come first; empty: the newest do.
type place struct {
	where, dir, wanted string
	device             bool // a library for the wanted device was installed there
}

func (s Search) places() []place {
	devices := librariesFor(s.Device)
	var places []place
	add := func(where string, dirs ...string) {
		for _, dir := range dirs {
			places = append(places, place{where: where, dir: dir})
		}
	}
	wheels := func(where, prefix, distribution string) {
		for _, dir := range wheelDirs(prefix, distribution) {
			version, device := wheelVersion(dir, devices)
			places = append(places, place{where, dir, version, device})
		}
	}
	program := s.Executable
	if program == "" {
		program, _ = os.Executable()
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	if program != "" {
		wheels("Python environment of the program", filepath.Dir(filepath.Dir(program)), "mlperf")
		add("beside the program", filepath.Dir(program), filepath.Join(filepath.Dir(program), "lib"))
	}
	for _, dir := range installDirs(devices) {
		_, device := installed(dir)
		places = append(places, place{where: "data directory", dir: dir, device: devices[device]})
	}
	for _, variable := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if prefix := os.Getenv(variable); prefix != "" {
			wheels("Python environment, "+variable, prefix, "onnxruntime*")
		}
	}
	if prefix := os.Getenv("CONDA_PREFIX"); prefix != "" { // conda's package onnxruntime-cpp
		add("conda environment", filepath.Join(prefix, "lib"), filepath.Join(prefix, "Library", "bin"))
	}
	for _, prefix := range userPrefixes() {
		wheels("Python packages of the user", prefix, "onnxruntime*")
	}
	add("npm package", filepath.Join(s.WorkDir, "node_modules", "onnxruntime-node", "bin", "napi-v6", nodePlatform()))
	for _, dir := range systemDirs() {
		add("system", filepath.Join(s.Root, dir))
	}
	add("loader", s.loaderDirs()...)
	slices.SortStableFunc(places, func(a, b place) int {
		switch {
		case a.device == b.device:
			return 0
		case a.device:
			return -1
		}
		return 1
	})
	return places
}

// librariesFor names the devices that a library has to be installed for; TensorRT's provider comes with CUDA's.
func librariesFor(wanted string) map[string]bool {
	names := map[string]bool{}
	for name := range strings.SplitSeq(wanted, ",") {
		if d, err := deviceNamed(name); err == nil {
			names[cmp.Or(d.backing, d.name)] = true
		}
	}
	return names
}

// userPrefixes are the folders below which pip puts packages with --user: the schemes posix_user, osx_framework_user and nt_user of
// Python's sysconfig.
func userPrefixes() []string {
	if base := os.Getenv("PYTHONUSERBASE"); base != "" {
		return []string{base}
	}
	var prefixes []string
	if user, err := os.UserHomeDir(); err == nil {
		prefixes = append(prefixes, filepath.Join(user, ".local"))
		prefixes = append(prefixes, fileio.Glob(filepath.Join(user, "Library", "Python"), "3.*")...)
	}
	if config, err := os.UserConfigDir(); err == nil && runtime.GOOS == "windows" {
		prefixes = append(prefixes, fileio.Glob(filepath.Join(config, "Python"), "Python3*")...)
	}
	return prefixes
}

// wheelDirs are the folders of ONNX Runtime's wheels (onnxruntime, onnxruntime-gpu, …) in a Python environment that pip installed a
// distribution into; those of the newest Python come first. A pattern may stand for the distribution's name.
func wheelDirs(prefix, distribution string) []string {
	packages := []string{filepath.Join(prefix, "Lib", "site-packages"), filepath.Join(prefix, "site-packages")} // of Windows; its users'
	for _, lib := range []string{"lib", "lib64"} {
		pythons := fileio.Glob(filepath.Join(prefix, lib), "python3.*")
		slices.SortFunc(pythons, func(a, b string) int {
			return compareVersions(filepath.Base(b)[len("python"):], filepath.Base(a)[len("python"):])
		})
		for _, python := range append(pythons, filepath.Join(prefix, lib, "python")) { // without a version: users of macOS
			packages = append(packages, filepath.Join(python, "site-packages"), filepath.Join(python, "dist-packages")) // Debian's own Python
		}
	}
	var dirs []string
	for _, dir := range packages {
		if len(fileio.Glob(dir, distribution+"-*.dist-info")) > 0 {
			dirs = append(dirs, filepath.Join(dir, "onnxruntime", "capi"))
		}
	}
	return dirs
}

// wheelVersion is the version of the wheel that a folder's library should be from (empty: any), and whether the wheel is for one of
// the wanted devices. Wheels for devices lie in one folder with that for the processor, each with a library of its own version, and
// they run on the processor too.
func wheelVersion(dir string, wanted map[string]bool) (version string, device bool) {
	packages := filepath.Dir(filepath.Dir(dir))
	for _, wheel := range []struct{ name, device string }{{"onnxruntime_openvino", "openvino"}, {"onnxruntime_gpu", "cuda"}} {
		for _, info := range fileio.Glob(packages, wheel.name+"-*.dist-info") {
			version = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(info), wheel.name+"-"), ".dist-info")
			if wanted[wheel.device] {
				return version, true
			}
		}
	}
	return version, false
}

// libraryName tells a library from other files beside it, its checksum for example.
var libraryName = regexp.MustCompile(`^(lib)?onnxruntime(\.so)?(\.\d+)*(\.dylib|\.dll)?$`)

// files lists the files in a place that may be the library, the newest name first. If there are none, it lists the name that
// it looked for.
func (p place) files() []string {
	patterns := []string{"libonnxruntime.so.1*", "libonnxruntime.so"}
	switch runtime.GOOS {
	case "windows":
		patterns = []string{"onnxruntime.dll"}
	case "darwin":
		patterns = []string{"libonnxruntime.dylib", "libonnxruntime.1*.dylib"}
	}
	// version takes the version out of a name, libonnxruntime.so.1.24.3 for example.
	version := func(path string) string {
		name := strings.TrimSuffix(filepath.Base(path), ".dylib")
		return strings.TrimPrefix(strings.TrimPrefix(name, "libonnxruntime."), "so.")
	}
	var found []string
	for _, pattern := range patterns {
		matches := fileio.Glob(p.dir, pattern)
		slices.SortFunc(matches, func(a, b string) int {
			switch p.wanted {
			case version(a):
				return -1
			case version(b):
				return 1
			}
			return compareVersions(version(b), version(a))
		})
		for _, m := range matches {
			if libraryName.MatchString(filepath.Base(m)) && !slices.Contains(found, m) {
				found = append(found, m)
			}
		}
	}
	if found == nil {
		found = []string{filepath.Join(p.dir, strings.TrimSuffix(patterns[0], "*"))}
	}
	return found
}

// installDir returns the folder in our data directory that holds a version of the library for this platform.
// scripts/install_onnxruntime.sh follows the same rule, and download.Item.UsualDir, whose versions with a device end in "-" and its name.
func installDir(version string) (string, error) {
	return home.DataDir("onnxruntime", version, runtime.GOOS+"-"+runtime.GOARCH)
}

// installed is the version of the library in such a folder, and the device that it was installed for; empty: none.
func installed(dir string) (version, device string) {
	version, device, _ = strings.Cut(filepath.Base(filepath.Dir(dir)), "-")
	return version, device
}

// installDirs lists the folders of the installed versions: first those with a wanted device, then the pinned version, with which
// results are comparable, then the others from the newest, and last those for other devices.
func installDirs(wanted map[string]bool) []string {
	pinned, err := installDir(pinnedVersion)
	if err != nil {
		return nil
	}
	dirs := []string{pinned}
	for _, version := range fileio.Glob(filepath.Dir(filepath.Dir(pinned)), "*") {
		dir := filepath.Join(version, filepath.Base(pinned))
		if info, err := os.Stat(dir); err == nil && info.IsDir() && dir != pinned {
			dirs = append(dirs, dir)
		}
	}
	rank := func(dir string) int {
		switch _, device := installed(dir); {
		case wanted[device]:
			return 0
		case dir == pinned:
			return 1
		case device == "":
			return 2
		}
		return 3
	}
	slices.SortStableFunc(dirs, func(a, b string) int {
		x, _ := installed(a)
		y, _ := installed(b)
		return cmp.Or(cmp.Compare(rank(a), rank(b)), compareVersions(y, x))
	})
	return dirs
}

// nodePlatform is the name that the npm package onnxruntime-node gives the folder of this platform.
func nodePlatform() string {
	system, arch := runtime.GOOS, runtime.GOARCH
	if system == "windows" {
		system = "win32"
	}
	if arch == "amd64" {
		arch = "x64"
	}
	return filepath.Join(system, arch)
}

// systemDirs are the folders where packages and people put shared libraries.
func systemDirs() []string {
	switch runtime.GOOS {
	case "windows":
		return nil // its system folder holds an old copy for Windows itself
	case "darwin":
		return []string{"/usr/local/lib", "/opt/homebrew/lib", "/opt/onnxruntime/lib"}
	}
	dirs := []string{"/usr/local/lib", "/usr/lib", "/usr/lib64", "/opt/onnxruntime/lib"}
	if multiarch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]; multiarch != "" {
		dirs = slices.Insert(dirs, 2, "/usr/lib/"+multiarch+"-linux-gnu")
	}
	return dirs
}

// loaderDirs are the folders that the system's loader searches beside those of systemDirs: those of its path variable, and on
// Linux those that /etc/ld.so.conf lists, from which the loader's cache is made.
func (s Search) loaderDirs() []string {
	variable := cmp.Or(map[string]string{"darwin": "DYLD_LIBRARY_PATH", "windows": "PATH"}[runtime.GOOS], "LD_LIBRARY_PATH")
	searched := filepath.SplitList(os.Getenv(variable))
	if runtime.GOOS == "linux" {
		searched = append(searched, s.loaderConf(filepath.Join(s.Root, "/etc/ld.so.conf"), 0)...)
	}
	var dirs []string
	for _, dir := range searched {
		if dir != "" && !slices.Contains(dirs, dir) && !slices.Contains(systemDirs(), dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// loaderConf reads a file in the format of ld.so.conf: a folder per line, comments after #, and lines that include other
// files by patterns.
func (s Search) loaderConf(path string, depth int) []string {
	const deepest = 8 // files that include each other have no end
	text, err := os.ReadFile(path)
	if err != nil || depth > deepest {
		return nil
	}
	var dirs []string
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || fields[0] == "hwcap":
		case fields[0] == "include":
			for _, pattern := range fields[1:] {
				folder := filepath.Dir(path)
				if filepath.IsAbs(pattern) {
					folder = s.Root
				}
				files, _ := filepath.Glob(filepath.Join(folder, pattern))
				for _, f := range files {
					dirs = append(dirs, s.loaderConf(f, depth+1)...)
				}
			}
		default:
			dirs = append(dirs, filepath.Join(s.Root, fields[0]))
		}
	}
	return dirs
}

// loaderHas reports whether the system's loader would find a library. Where it cannot tell, it says yes.
func (s Search) loaderHas(name string) bool {
	if runtime.GOOS != "linux" {
		return true
	}
	for _, dir := range slices.Concat(systemDirs(), []string{"/lib", "/lib64"}, s.loaderDirs()) {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}
