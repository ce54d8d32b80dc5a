package download

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Result is what Get brought.
type Result struct {
	Dir     string // the item's folder
	Path    string // of the model, if it is one file; otherwise Dir
	Files   int
	Bytes   int64
	Already bool // it was there, with the right checksums
}

// A RegistrationError says that a person has to get files first.
type RegistrationError struct {
	Item  Item
	Files []string // that are wanted
}

// Error implements error.
func (e *RegistrationError) Error() string {
	what := "a folder"
	if len(e.Files) > 0 {
		what = strings.Join(e.Files, ", ")
	}
	return fmt.Sprintf("registration is needed: get %s by hand, then name it with --from-file", what)
}

// A job is one Get.
type job struct {
	Options
	item     Item
	root     *os.Root
	list     *sumList
	fetcher  *fetcher
	receipt  receipt
	archives []string // in our own folder, to be removed in the end
}

// Get brings an item into its folder. What is there already, is whole and has the right
// contents is kept. If Get fails or its context ends, the next one goes on there.
func Get(ctx context.Context, m *Manifest, it Item, o Options) (Result, error) {
	o = o.withDefaults()
	o.Observer = &serial{o: o.Observer}
	if err := checkOptions(it, o); err != nil {
		return Result{}, err
	}
	root, lock, err := openState(ctx, o)
	if err != nil {
		return Result{}, fmt.Errorf("downloading %s %s: %w", it.Kind, it.Name, err)
	}
	defer lock.Close()
	defer root.Close()
	j := &job{Options: o, item: it, root: root, receipt: newReceipt(it, o)}
	j.fetcher = &fetcher{client: o.Client, pace: o.pace, connections: o.Connections, root: root, observer: o.Observer, room: func(need, _ int64) error { return j.checkRoom(need) }}
	result, err := j.run(ctx)
	if err != nil {
		return result, fmt.Errorf("downloading %s %s: %w", it.Kind, it.Name, err)
	}
	return result, nil
}

func checkOptions(it Item, o Options) error {
	switch {
	case o.Dir == "":
		return errors.New("no folder to download into")
	case o.Count < 0:
		return fmt.Errorf("count is %d", o.Count)
	case o.Count > 0 && !layouts()[it.Layout].subsets:
		return fmt.Errorf("%s %s cannot be had in part", it.Kind, it.Name)
	case it.Samples > 0 && o.Count > it.Samples:
		return fmt.Errorf("%d samples of %s are wanted, it has %d", o.Count, it.Name, it.Samples)
	}
	return nil
}

func (j *job) run(ctx context.Context) (result Result, err error) {
	if j.list, err = openSums(j.root); err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, j.list.close()) }()
	result, there, err := j.alreadyThere(ctx)
	if there || err != nil {
		return result, err
	}
	if err := j.checkRegistration(); err != nil {
		return result, err
	}
	if err := ignoreMissing(j.root.Remove(receiptFile)); err != nil {
		return result, err
	}
	j.receipt.Sources = map[string]fetched{}
	for _, f := range j.item.Files {
		if err := j.obtain(ctx, f); err != nil {
			return result, err
		}
	}
	if err := j.obtainFolder(ctx); err != nil {
		return result, err
	}
	if finish := layouts()[j.item.Layout].finish; finish != nil {
		if err := finish(ctx, j); err != nil {
			return result, err
		}
	}
	return j.finish()
}

// alreadyThere says whether an earlier run has brought the same, and it still is.
func (j *job) alreadyThere(ctx context.Context) (Result, bool, error) {
	r, ok := readReceipt(j.root)
	if !ok || !r.same(j.receipt) {
		return Result{}, false, nil
	}
	j.Observer.Phase("checking what is there")
	var problems []string
	_, _, err := j.list.verify(ctx, j.Observer, func(text string) { problems = append(problems, text) })
	if err != nil {
		return Result{}, false, err
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		j.Observer.Note(fmt.Sprintf("%s, and %d more such problems; getting what is missing", problems[0], len(problems)-1))
		return Result{}, false, nil
	}
	result := j.result()
	result.Already = true
	return result, true, nil
}

// checkRegistration ends the job before anything is fetched, if it could not be finished.
func (j *job) checkRegistration() error {
	e := &RegistrationError{Item: j.item}
	for _, f := range j.item.Files {
		if !f.Registration || j.Mirror != "" || j.handed(f) != "" || j.present(f) {
			continue
		}
		e.Files = append(e.Files, path.Base(f.Name))
	}
	if len(e.Files) > 0 || j.item.Folder != nil && j.handedFolder() == "" {
		return e
	}
	return nil
}

// present says whether a file, or the archive, is there from an earlier run. Its
// checksum is looked at later.
func (j *job) present(f File) bool {
	name := f.Name
	if f.Unpack != nil {
		name = flat(f.Name)
	}
	_, err := j.root.Stat(name)
	return err == nil
}

// obtain brings one file of the manifest, and unpacks it if it is an archive.
func (j *job) obtain(ctx context.Context, f File) error {
	switch {
	case f.R2 != "":
		return j.obtainR2(ctx, f)
	case f.Unpack != nil:
		return j.obtainArchive(ctx, f)
	}
	return j.obtainPlain(ctx, f)
}

// obtainPlain brings a file to its place.
func (j *job) obtainPlain(ctx context.Context, f File) error {
	j.Observer.Phase(f.Name)
	there, err := j.keep(ctx, f)
	if there || err != nil {
		return err
	}
	part := flat(f.Name) + partSuffix
	got, err := j.bring(ctx, f, part)
	if err != nil {
		return err
	}
	j.receipt.Sources[f.Name] = got
	return j.install(part, f.Name, got.SHA256)
}

// keep says whether the file is in its place with the right contents. Other contents are
// replaced only if that is wanted.
func (j *job) keep(ctx context.Context, f File) (bool, error) {
	info, err := j.root.Stat(f.Name)
	if err != nil {
		return false, ignoreMissing(err)
	}
	if !info.Mode().IsRegular() {
		return false, fmt.Errorf("%s is in the way: it is not a file", j.path(f.Name))
	}
	got, err := sumFile(ctx, j.root, f.Name, progressOf(j.Observer, info.Size()))
	if err != nil {
		return false, err
	}
	ours := j.list.get(f.Name)
	wrong := f.want().check(got, j.path(f.Name))
	switch {
	case wrong == nil && (f.want().known() || ours == got.SHA256):
		if ours != got.SHA256 {
			err = j.list.add(f.Name, got.SHA256)
		}
		return true, err
	case ours != "" || j.Force: // it was ours and is damaged, or may be replaced
		return false, nil
	case wrong != nil:
		return false, fmt.Errorf("%w: it is in the way; replace it with --force, or choose another --dir", wrong)
	}
	return false, fmt.Errorf("%s is in the way, and no checksum says whether it is right: replace it with --force, "+
		"or choose another --dir", j.path(f.Name))
}

// bring makes the part file, from what the user has or from a server.
func (j *job) bring(ctx context.Context, f File, part string) (fetched, error) {
	if file := j.handed(f); file != "" {
		return j.copyIn(ctx, file, part, f.want())
	}
	urls := f.URLs
	if f.Registration {
		urls = nil
	}
	if j.Mirror != "" {
		urls = append([]string{strings.TrimSuffix(j.Mirror, "/") + "/" + path.Base(f.Name)}, urls...)
	}
	if len(urls) == 0 {
		return fetched{}, &RegistrationError{j.item, []string{path.Base(f.Name)}}
	}
	return j.fetcher.fetch(ctx, part, urls, f.want())
}

// install gives a part file its name, at once.
func (j *job) install(part, name, sum string) error {
	if err := j.mkdirFor(name); err != nil {
		return err
	}
	if err := j.root.Rename(part, name); err != nil {
		return err
	}
	if err := ignoreMissing(j.root.Remove(part + journalSuffix)); err != nil {
		return err
	}
	return j.list.add(name, sum)
}

// checkWay says whether a file may be written where another one may be: if that one is
// ours, is the same, or may be replaced.
func (j *job) checkWay(ctx context.Context, name, sum string) error {
	if _, err := j.root.Lstat(name); err != nil || j.Force || j.list.get(name) != "" {
		return ignoreMissing(err)
	}
	got, err := sumFile(ctx, j.root, name, nil)
	if err == nil && got.SHA256 != sum {
		err = fmt.Errorf("%s is in the way, with other contents: replace it with --force, or choose another --dir", j.path(name))
	}
	return err
}

func (j *job) mkdirFor(name string) error {
	if dir := path.Dir(name); dir != "." {
		return j.root.MkdirAll(dir, 0o755)
	}
	return nil
}

// path is the full path of a name, for messages.
func (j *job) path(name string) string { return filepath.Join(j.Dir, filepath.FromSlash(name)) }

// checkRoom says whether so many more bytes fit.
func (j *job) checkRoom(need int64) error {
	if j.Free == nil {
		return nil
	}
	free, err := j.Free(j.Dir)
	if err != nil {
		return finalError{err}
	}
	if need > 0 && uint64(need) > free {
		return final("%s needs %s more, %s are free there: choose another disk with --dir", j.Dir, Bytes(need), Bytes(free))
	}
	return nil
}

// finish writes the receipt and removes the archives.
func (j *job) finish() (Result, error) {
	if err := j.list.rewrite(); err != nil {
		return Result{}, err
	}
	if err := j.receipt.write(j.root); err != nil {
		return Result{}, err
	}
	for _, name := range j.archives {
		if err := j.removeArchive(name); err != nil {
			return Result{}, err
		}
	}
	return j.result(), nil
}

// removeArchive removes an unpacked archive, or puts it where the user sees it.
func (j *job) removeArchive(name string) error {
	if !j.KeepArchives {
		return ignoreMissing(j.root.Remove(flat(name)))
	}
	if err := j.mkdirFor(name); err != nil {
		return err
	}
	return j.root.Rename(flat(name), name)
}

func (j *job) result() Result {
	r := Result{Dir: j.Dir, Path: j.Dir}
	for _, name := range j.list.names() {
		if info, err := j.root.Stat(name); err == nil {
			r.Files++
			r.Bytes += info.Size()
		}
	}
	if names := j.list.names(); j.item.Kind == Model && len(names) == 1 {
		r.Path = j.path(names[0])
	}
	return r
}
