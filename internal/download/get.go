package download

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
)

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
	fetcher  *fetcher
	receipt  receipt
	archives map[string]fetched // by name in the manifest: those in our own folder, right, and to be removed in the end
}

// Get brings an item into its folder. What is there already, is whole and has the right
// contents is kept. If Get fails or its context ends, the next one goes on there.
func Get(ctx context.Context, m *Manifest, it Item, o Options) (Result, error) {
	if err := o.Check(it); err != nil {
		return Result{}, err
	}
	o = o.withDefaults()
	o.Observer = &serial{o: o.Observer}
	root, lock, err := openState(ctx, o)
	if err != nil {
		return Result{}, fmt.Errorf("downloading %s %s: %w", it.Kind, it.Name, err)
	}
	defer lock.Close()
	defer root.Close()
	result, err := newJob(it, o, root).run(ctx)
	if err != nil {
		return result, fmt.Errorf("downloading %s %s: %w", it.Kind, it.Name, err)
	}
	return result, nil
}

func newJob(it Item, o Options, root *os.Root) *job {
	j := &job{Options: o, item: it, root: root, receipt: newReceipt(it, o), archives: map[string]fetched{}}
	j.fetcher = &fetcher{
		servers: newServers(newClient(o.Connections), o.pace.stall), pace: o.pace, connections: o.Connections, root: root,
		observer: o.Observer, room: func(need, _ int64) error { return j.checkRoom(need) },
	}
	return j
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
	if err := errors.Join(j.checkHanded(), j.checkRegistration()); err != nil {
		return result, err
	}
	if err := ignoreMissing(j.root.Remove(receiptFile)); err != nil {
		return result, err
	}
	if err := j.obtainAll(ctx); err != nil {
		return result, err
	}
	return j.finish()
}

// obtainAll brings everything. What the user has got is looked at before any server is
// asked: if it is not right, that is known at once.
func (j *job) obtainAll(ctx context.Context) error {
	j.receipt.Sources = map[string]fetched{}
	if err := j.obtainHanded(ctx); err != nil {
		return err
	}
	for _, f := range j.item.Files {
		if err := j.obtain(ctx, f); err != nil {
			return err
		}
	}
	if finish := layouts()[j.item.Layout].finish; finish != nil {
		return finish(ctx, j)
	}
	return nil
}

// alreadyThere reports whether an earlier run has brought the same, and it still is.
func (j *job) alreadyThere(ctx context.Context) (Result, bool, error) {
	r, ok := readReceipt(j.root)
	if !ok || !r.same(j.receipt) {
		return Result{}, false, nil
	}
	if n := len(j.list.names()); n == 0 || n < r.Files {
		j.Observer.Note(fmt.Sprintf("%s lists %d files, want %d; getting what is missing", sumsFile, n, r.Files))
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
		if !j.obtainable(f) {
			e.Files = append(e.Files, path.Base(f.Name))
		}
	}
	if len(e.Files) > 0 || j.item.Folder != nil && j.handedFolder() == "" {
		return e
	}
	return nil
}

// obtainable reports whether there is anywhere to get a file from.
func (j *job) obtainable(f File) bool {
	return len(j.Sources(f)) > 0 || f.R2 != "" || j.handed(f) != "" || j.present(f)
}

// present reports whether a file, or the archive, is there from an earlier run. Its
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

// finish writes the receipt and removes the archives.
func (j *job) finish() (Result, error) {
	if err := j.list.rewrite(); err != nil {
		return Result{}, err
	}
	j.receipt.Files = len(j.list.names())
	if err := j.receipt.write(j.root); err != nil {
		return Result{}, err
	}
	for name := range j.archives {
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
