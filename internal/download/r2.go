package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
)

// maxList bounds the lists that a server sends.
const maxList = 16 << 20

// obtainR2 brings the files that a list at MLCommons' storage names. NAME.uri has the
// address of the folder, NAME.md5 lines of checksum and path, as mlcommons/r2-downloader
// reads them.
func (j *job) obtainR2(ctx context.Context, f File) error {
	if j.handedFolder() != "" { // then it is there already
		return nil
	}
	files, err := j.readR2(ctx, f)
	if err != nil {
		return err
	}
	for i, file := range files {
		j.Observer.Note(fmt.Sprintf("file %d of %d: %s", i+1, len(files), file.Name))
		if sum, ok := f.Inside[path.Base(file.Name)]; ok && sum != file.MD5 {
			return fmt.Errorf("%s.md5 has MD5 %s for %s, want %s", f.R2, file.MD5, file.Name, sum)
		}
		if err := j.obtainListed(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

// obtainListed brings a file of a list from where the list says.
func (j *job) obtainListed(ctx context.Context, f File) error {
	direct := *j
	direct.Mirror, direct.MirrorOnly = "", false
	return direct.obtainPlain(ctx, f)
}

// readR2 gets the list, from the first source that has it.
func (j *job) readR2(ctx context.Context, f File) ([]File, error) {
	j.Observer.Phase("list of " + path.Base(f.R2))
	var errs []error
	if j.Mirror != "" {
		files, err := j.readMirrored(ctx, f)
		if err == nil || j.MirrorOnly || context.Cause(ctx) != nil {
			return files, err
		}
		j.Observer.Note(fmt.Sprintf("%v; trying %s", err, f.R2))
		errs = append(errs, err)
	}
	uri, err := j.readSmall(ctx, f.R2+".uri")
	if err != nil {
		return nil, errors.Join(append(errs, err)...)
	}
	return j.readListed(ctx, f, f.R2, strings.TrimSpace(string(uri)))
}

// readMirrored gets the list of a mirror, which has it as NAME.md5, and the files in a
// folder NAME.
func (j *job) readMirrored(ctx context.Context, f File) ([]File, error) {
	base := joinURL(j.Mirror, path.Base(f.R2))
	return j.readListed(ctx, f, base, base)
}

// readListed reads the list at an address about the files in a folder of a server.
func (j *job) readListed(ctx context.Context, f File, address, base string) ([]File, error) {
	list, err := j.readSmall(ctx, address+".md5")
	if err != nil {
		return nil, err
	}
	files, err := parseR2(f.Name, base, list)
	if err != nil {
		return nil, fmt.Errorf("%s.md5: %w", shown(address), err)
	}
	return files, nil
}

// copyListed copies the files from a folder that the user has got by hand. Of their
// checksums those in the manifest are known.
func (j *job) copyListed(ctx context.Context, f File) error {
	copying := *j
	copying.item.Folder = &Folder{}
	if err := copying.obtainFolder(ctx); err != nil {
		return err
	}
	return j.checkInside(ctx, f)
}

// checkInside checks the files of which the manifest has checksums.
func (j *job) checkInside(ctx context.Context, f File) error {
	for _, name := range slices.Sorted(maps.Keys(f.Inside)) {
		got, err := sumFile(ctx, j.root, name, nil)
		if f.R2 != "" && errors.Is(err, os.ErrNotExist) {
			continue // it may lie in a folder: the list says where
		}
		if errors.Is(err, os.ErrNotExist) {
			return broken("it has no %s", name)
		}
		if err == nil {
			err = want{md5: f.Inside[name]}.check(got, j.path(name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readSmall reads a small file from a server.
func (j *job) readSmall(ctx context.Context, address string) (data []byte, err error) {
	err = j.pace.retry(ctx, j.Observer.Note, func() (bool, error) {
		a, err := j.fetcher.servers.ask(ctx, address, 0, maxList-1)
		if err != nil {
			return false, err
		}
		defer a.close()
		var b bytes.Buffer
		n, err := copyBody(&b, a, maxList, j.pace, func(int) {})
		if err == nil && a.size >= 0 && n != a.size {
			err = fmt.Errorf("%s: %w", a.url, io.ErrUnexpectedEOF)
		}
		data = b.Bytes()
		return false, err
	})
	return data, err
}

// parseR2 reads a list of files. folder is the path below the item's folder for them.
func parseR2(folder, base string, list []byte) ([]File, error) {
	if err := checkURL(base); err != nil {
		return nil, err
	}
	var files []File
	seen := map[string]bool{}
	for i, line := range strings.Split(strings.TrimSpace(string(list)), "\n") {
		sum, name, err := parseSumLine(line)
		to := path.Join(folder, name)
		if err == nil && seen[to] {
			err = fmt.Errorf("%s is listed twice", name)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		seen[to] = true
		files = append(files, File{Name: to, URLs: []string{joinURL(base, name)}, MD5: sum})
	}
	return files, nil
}

// parseSumLine reads a line of md5sum.
func parseSumLine(line string) (sum, name string, err error) {
	sum, name, ok := strings.Cut(strings.TrimSpace(line), " ")
	name = strings.TrimPrefix(strings.TrimSpace(name), "*")
	name = strings.TrimPrefix(name, "./")
	if !ok || sum == "" || checkHex("checksum", sum, 16) != nil {
		return "", "", fmt.Errorf("want an MD5 and a path, got %q", line)
	}
	return sum, name, checkPath(name)
}

// joinURL appends a path to an address, element by element escaped.
func joinURL(base, name string) string {
	elems := strings.Split(name, "/")
	for i, e := range elems {
		elems[i] = url.PathEscape(e)
	}
	return strings.TrimSuffix(base, "/") + "/" + strings.Join(elems, "/")
}
