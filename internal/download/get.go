package download

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Options say how and where to download. The zero value of every field but Dir is useful.
type Options struct {
	Dir          string   // the item's own folder; made if it is missing
	FromFiles    []string // files, or folders with files, that the user has already
	Mirror       string   // address under which files lie by their bare names; asked first
	MirrorOnly   bool     // ask no server but the mirror
	Count        int      // only so many samples; 0: all
	Seed         uint64   // which ones
	Connections  int      // images of OpenImages that are fetched at a time; 0: 16
	Force        bool     // replace files that have other contents
	KeepArchives bool
	Observer     Observer // nil: silence

	free    func(dir string) (uint64, error) // bytes on the disk; nil: what the system says
	retries retryPolicy
}

// An Observer hears how a download goes on. Its methods may be called from several goroutines.
type Observer interface {
	Phase(name string)    // what begins
	Bytes(done, of int64) // how far the phase is; of is 0 if that is not known
	Items(done, of int)   // the same, counted in files
	Note(text string)     // a line to read
}

type silence struct{}

func (silence) Phase(string)       {}
func (silence) Bytes(int64, int64) {}
func (silence) Items(int, int)     {}
func (silence) Note(string)        {}

// Check finds wrong options for an item, without asking a server. Get does the same first.
func (o Options) Check(it Item) error {
	if o.Dir == "" {
		return userinput.Errorf("dir", "no folder to download into")
	}
	if o.Connections < 0 {
		return userinput.Errorf("connections", "%d connections are wanted: must be 1 or more", o.Connections)
	}
	if err := checkCount(it, o.Count); err != nil {
		return err
	}
	switch {
	case o.Mirror != "" && checkURL(o.Mirror) != nil:
		return userinput.Wrap("mirror", checkURL(o.Mirror))
	case strings.ContainsAny(o.Mirror, "?#"):
		return userinput.Errorf("mirror", "%s has a query or a fragment: names of files cannot follow it", shown(o.Mirror))
	case o.Mirror == "" && o.MirrorOnly:
		return userinput.Errorf("mirror_only", "no mirror to be the only source")
	}
	for _, name := range o.FromFiles {
		info, err := os.Stat(name)
		if err != nil {
			return userinput.Wrap("from_file", err)
		}
		if !info.Mode().IsRegular() && !info.IsDir() { // reading a pipe or a device may never end
			return userinput.Errorf("from_file", "%s is neither a file nor a folder (%v)", name, info.Mode().Type())
		}
	}
	return nil
}

// checkCount says whether so many samples of an item can be had.
func checkCount(it Item, count int) error {
	switch {
	case count < 0:
		return userinput.Errorf("count", "%d samples are wanted: must be 1 or more", count)
	case count > 0 && !layouts()[it.Layout].subsets:
		return userinput.Errorf("count", "%s %s cannot be had in part", it.Kind, it.Name)
	case it.Samples > 0 && count > it.Samples:
		return userinput.Errorf("count", "%d samples of %s are wanted, it has %d", count, it.Name, it.Samples)
	}
	return nil
}

// A RegistrationError says that a person has to get files first.
type RegistrationError struct {
	Item  Item
	Files []string // that are wanted; none: a folder is
}

// Error implements error.
func (e *RegistrationError) Error() string {
	what := "a folder"
	if len(e.Files) > 0 {
		what = strings.Join(e.Files, ", ")
	}
	return fmt.Sprintf("registration is needed: get %s by hand", what)
}

// An InTheWayError is something in an item's folder that is not ours to replace.
type InTheWayError struct {
	Path, Why string
}

// Error implements error.
func (e *InTheWayError) Error() string { return fmt.Sprintf("%s is in the way: %s", e.Path, e.Why) }

// A NoRoomError is a disk that has too little space.
type NoRoomError struct {
	Dir  string
	Need int64  // bytes beyond the free ones
	Free uint64 // bytes
}

// Error implements error.
func (e *NoRoomError) Error() string {
	return fmt.Sprintf("%s needs %s more, %s are free there", e.Dir, units.Bytes(e.Need), units.Bytes(e.Free))
}

// A Result is what Get brought.
type Result struct {
	Dir     string `json:"folder"` // the item's
	Path    string `json:"path"`   // of the model, if it is one file; otherwise Dir
	Files   int    `json:"files"`
	Bytes   int64  `json:"bytes"`
	Already bool   `json:"already"` // it was there, with the right checksums
}

// A job is one Get.
type job struct {
	Options
	item     Item
	root     *os.Root
	list     *sumList
	receipt  receipt
	archives []string // names of those in our own folder, which are removed in the end

	client *http.Client
	heard  *sync.Map // hosts that have answered
}

// Get brings an item into its folder. What is there already, is whole and has the right contents is kept. If Get fails or its
// context ends, the next call goes on from there.
func Get(ctx context.Context, it Item, o Options) (result Result, err error) {
	if err := o.Check(it); err != nil {
		return Result{}, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("downloading %s %s: %w", it.Kind, it.Name, err)
		}
	}()
	if o.Connections == 0 {
		o.Connections = 16
	}
	if o.Observer == nil {
		o.Observer = silence{}
	}
	if o.free == nil {
		o.free = func(dir string) (uint64, error) {
			disk, err := machine.DiskOf(dir)
			return disk.FreeBytes, err
		}
	}
	if o.retries == (retryPolicy{}) {
		o.retries = defaultRetries()
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return result, err
	}
	root, err := openFolder(o.Dir)
	if err != nil {
		return result, err
	}
	defer root.Close()
	lock, err := lockFolder(ctx, root, o.Observer)
	if err != nil {
		return result, err
	}
	defer lock.Close()
	list, err := openSums(root)
	if err != nil {
		return result, err
	}
	j := &job{Options: o, item: it, root: root, list: list, receipt: newReceipt(it, o), client: newClient(o.Connections), heard: &sync.Map{}}
	if result, err = j.run(ctx); err == nil && it.Kind == Runtime {
		err = j.removeOtherVersions()
	}
	return result, errors.Join(err, list.close())
}

// removeOtherVersions removes other versions of a runtime, where runs look for it: they have gigabytes.
func (j *job) removeOtherVersions() error {
	usual, err := j.item.UsualDir()
	if err != nil || filepath.Clean(j.Dir) != usual {
		return err
	}
	var errs []error
	for _, version := range fileio.Glob(filepath.Dir(filepath.Dir(usual)), "*-"+j.item.Name) {
		if dir := filepath.Join(version, j.item.Platform); dir != usual && Installed(dir, j.item) {
			j.Observer.Note("removing another version: " + dir)
			errs = append(errs, os.RemoveAll(dir))
			os.Remove(version) // unless it has another platform
		}
	}
	return errors.Join(errs...)
}

func (j *job) run(ctx context.Context) (Result, error) {
	there, err := j.alreadyThere(ctx)
	if there || err != nil {
		result := j.result()
		result.Already = there
		return result, err
	}
	if err := errors.Join(j.checkFromFiles(), j.checkRegistration()); err != nil {
		return Result{}, err
	}
	if err := ignoreMissing(j.root.Remove(receiptFile)); err != nil {
		return Result{}, err
	}
	for _, f := range j.item.Files {
		if err := j.obtain(ctx, f); err != nil {
			return Result{}, err
		}
	}
	if j.item.Folder != nil {
		if err := j.copyFolder(ctx); err != nil {
			return Result{}, err
		}
	}
	if finish := layouts()[j.item.Layout].finish; finish != nil {
		if err := finish(ctx, j); err != nil {
			return Result{}, err
		}
	}
	return j.result(), j.finish()
}

// alreadyThere reports whether an earlier run has brought the same, and it still is.
func (j *job) alreadyThere(ctx context.Context) (bool, error) {
	r, _ := readReceipt(j.root)
	if j.receipt.Files = r.Files; r != j.receipt {
		return false, nil
	}
	if n := len(j.list.names()); n == 0 || n < r.Files {
		j.Observer.Note(fmt.Sprintf("%s lists %d files, expected %d; getting the rest", sumsFile, n, r.Files))
		return false, nil
	}
	j.Observer.Phase("checking files")
	_, problems, err := j.list.verify(ctx, j.Observer)
	if len(problems) > 0 {
		j.Observer.Note(fmt.Sprintf("%s, and %d more such problems; getting these files", problems[0], len(problems)-1))
	}
	return err == nil && len(problems) == 0, err
}

// checkRegistration ends the job before anything is fetched, if a person has to get files first.
func (j *job) checkRegistration() error {
	e := &RegistrationError{Item: j.item}
	for _, f := range j.item.Files {
		earlier := f.Name
		if f.Unpack != nil {
			earlier = inState(f.Name)
		}
		_, missing := j.root.Stat(earlier) // its checksum is looked at later
		if len(j.Sources(f)) == 0 && f.R2 == "" && j.given(f) == "" && missing != nil {
			e.Files = append(e.Files, path.Base(f.Name))
		}
	}
	if len(e.Files) > 0 || j.item.Folder != nil && j.givenFolder() == "" {
		return e
	}
	return nil
}

// obtain brings one file of the manifest, and unpacks it if it is an archive.
func (j *job) obtain(ctx context.Context, f File) error {
	switch {
	case f.R2 != "" && j.givenFolder() != "":
		return errors.Join(j.copyListed(ctx), j.checkInside(ctx, f))
	case f.R2 != "":
		return j.obtainListed(ctx, f)
	case f.Unpack != nil:
		return j.obtainArchive(ctx, f)
	}
	j.Observer.Phase(f.Name)
	return j.obtainFile(ctx, f, j.Observer.Bytes)
}

// obtainFile brings a file to its place.
func (j *job) obtainFile(ctx context.Context, f File, show func(done, of int64)) error {
	there, err := j.keep(ctx, f)
	if there || err != nil {
		return err
	}
	part := inState(f.Name) + partSuffix
	got, err := j.bring(ctx, f, part, show)
	if err != nil {
		return err
	}
	return j.install(ctx, part, f.Name, got.SHA256)
}

// keep reports whether a file is in its place with the right contents. Other contents are an error, unless an earlier download
// wrote them or they may be replaced.
func (j *job) keep(ctx context.Context, f File) (bool, error) {
	info, err := j.root.Stat(f.Name)
	if err != nil {
		return false, ignoreMissing(err)
	}
	if !info.Mode().IsRegular() {
		return false, &InTheWayError{j.path(f.Name), "it is not a file"}
	}
	got, err := sumFile(ctx, j.root, f.Name, nil)
	if err != nil {
		return false, err
	}
	listed := j.list.get(f.Name)
	wrong := f.check(got, "it")
	if wrong == nil && !f.hasChecksum() && listed != got.SHA256 {
		wrong = errors.New("no checksum says whether it is right")
	}
	switch {
	case wrong == nil && listed == got.SHA256:
		return true, nil
	case wrong == nil:
		return true, j.list.add(f.Name, got.SHA256)
	case listed != "" || j.Force: // it was ours and is damaged, or may be replaced
		return false, nil
	}
	return false, &InTheWayError{j.path(f.Name), wrong.Error()}
}

// bring makes the part file, from what the user has or from a server.
func (j *job) bring(ctx context.Context, f File, part string, show func(done, of int64)) (sums, error) {
	if file := j.given(f); file != "" {
		return j.copyIn(ctx, f, file, part)
	}
	if len(j.Sources(f)) == 0 {
		return sums{}, &RegistrationError{j.item, []string{path.Base(f.Name)}}
	}
	return j.fetch(ctx, f, part, show)
}

// install gives a part file its name. Another file with this name is replaced if it is ours, is the same, or may be replaced.
func (j *job) install(ctx context.Context, part, name, sum string) error {
	if _, err := j.root.Lstat(name); err == nil && !j.Force && j.list.get(name) == "" {
		if got, err := sumFile(ctx, j.root, name, nil); err != nil || got.SHA256 != sum {
			return errors.Join(&InTheWayError{j.path(name), "its contents are others"}, j.discard(part))
		}
	}
	if err := j.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if err := j.root.Rename(part, name); err != nil {
		return err
	}
	return errors.Join(j.discard(part), j.list.add(name, sum))
}

// replace writes a file whose contents we make.
func (j *job) replace(ctx context.Context, name string, data []byte) error {
	part := inState(name) + partSuffix
	if err := j.root.WriteFile(part, data, 0o644); err != nil {
		return err
	}
	s := newSummer()
	_, _ = s.Write(data)
	return j.install(ctx, part, name, s.sums().SHA256)
}

// finish writes the list and the receipt, and removes the archives or puts them where the user sees them.
func (j *job) finish() error {
	if err := errors.Join(j.list.close(), j.list.write()); err != nil { // Windows replaces no open file on exFAT and shares
		return err
	}
	j.receipt.Files = len(j.list.names())
	data, err := json.MarshalIndent(j.receipt, "", "  ")
	if err != nil {
		return err
	}
	if err := writeFile(j.root, receiptFile, append(data, '\n')); err != nil {
		return err
	}
	for _, name := range j.archives {
		if !j.KeepArchives {
			err = ignoreMissing(j.root.Remove(inState(name)))
		} else if err = j.root.MkdirAll(path.Dir(name), 0o755); err == nil {
			err = j.root.Rename(inState(name), name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (j *job) result() Result {
	r := Result{Dir: j.Dir, Path: j.Dir}
	names := j.list.names()
	for _, name := range names {
		if info, err := j.root.Stat(name); err == nil {
			r.Files++
			r.Bytes += info.Size()
		}
	}
	if j.item.Kind == Model && len(names) == 1 {
		r.Path = j.path(names[0])
	}
	return r
}

// path is the full path of a name, for messages.
func (j *job) path(name string) string { return filepath.Join(j.Dir, filepath.FromSlash(name)) }

// checkPath wants a clean relative path with slashes that stays below its folder, and out of our own folder in it.
func checkPath(name string) error {
	switch {
	case name == "." || !fs.ValidPath(name) || strings.ContainsAny(name, "\\:\n\r\x00"):
		return fmt.Errorf("path %q is not a clean path below the folder", name)
	case strings.EqualFold(firstElement(name), stateDir):
		return fmt.Errorf("path %q is in the folder %s, which is ours", name, stateDir)
	}
	return nil
}

func firstElement(name string) string {
	first, _, _ := strings.Cut(name, "/")
	return first
}
