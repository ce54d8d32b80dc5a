package download

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"
)

// obtainListed brings the files that a list at MLCommons' storage names. NAME.uri has the address of the folder, NAME.md5 lines
// of checksum and path, as mlcommons/r2-downloader reads them.
func (j *job) obtainListed(ctx context.Context, f File) error {
	j.Observer.Phase("list of " + path.Base(f.R2))
	files, err := j.readList(ctx, f)
	if err != nil {
		return err
	}
	direct := *j // the list says where the files are
	direct.Mirror, direct.MirrorOnly = "", false
	for i, file := range files {
		j.Observer.Note(fmt.Sprintf("file %d of %d: %s", i+1, len(files), file.Name))
		if sum, ok := f.Inside[path.Base(file.Name)]; ok && sum != file.MD5 {
			return fmt.Errorf("%s.md5 has MD5 %s for %s, expected %s", f.R2, file.MD5, file.Name, sum)
		}
		j.Observer.Phase(file.Name)
		get := func() error { return direct.obtainFile(ctx, file, j.Observer.Bytes) }
		if f.Unpack != nil && path.Base(file.Name) == f.Unpack.Archive {
			file.Unpack = f.Unpack
			get = func() error { return direct.obtainArchive(ctx, file) }
		}
		err := get()
		j.archives = direct.archives
		if err != nil {
			return err
		}
	}
	return nil
}

// readList gets the list, from the first source that has it. A mirror has it as NAME.md5, and the files in a folder NAME.
func (j *job) readList(ctx context.Context, f File) ([]File, error) {
	var fromMirror error
	if j.Mirror != "" {
		folder := joinURL(j.Mirror, path.Base(f.R2))
		list, err := j.readSmall(ctx, folder+".md5")
		if err == nil {
			return parseList(f.Name, folder, list)
		}
		if j.MirrorOnly || ctx.Err() != nil {
			return nil, err
		}
		j.Observer.Note(fmt.Sprintf("%v; trying %s", err, f.R2))
		fromMirror = err
	}
	folder, err := j.readSmall(ctx, f.R2+".uri")
	if err != nil {
		return nil, errors.Join(fromMirror, err)
	}
	list, err := j.readSmall(ctx, f.R2+".md5")
	if err != nil {
		return nil, err
	}
	return parseList(f.Name, strings.TrimSpace(string(folder)), list)
}

// readSmall reads a small file from a server.
func (j *job) readSmall(ctx context.Context, address string) ([]byte, error) {
	part := inState("list") + partSuffix
	if err := j.discard(part); err != nil {
		return nil, err
	}
	if err := j.transfer(ctx, address, File{}, part, func(int64, int64) {}); err != nil {
		return nil, err
	}
	data, err := j.root.ReadFile(part)
	return data, errors.Join(err, j.discard(part))
}

// parseList reads lines of md5sum about the files in a folder of a server. to is the path below the item's folder for them.
func parseList(to, folder string, list []byte) (files []File, err error) {
	if err := checkURL(folder); err != nil {
		return nil, err
	}
	for i, line := range strings.Split(string(bytes.TrimSpace(list)), "\n") {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		name = path.Clean(strings.TrimPrefix(strings.TrimSpace(name), "*"))
		if digits, err := hex.DecodeString(sum); err != nil || len(digits) != 16 {
			return nil, fmt.Errorf("%s.md5: line %d: expected an MD5 and a path, got %q", shown(folder), i+1, line)
		}
		if err := checkPath(name); err != nil {
			return nil, fmt.Errorf("%s.md5: line %d: %w", shown(folder), i+1, err)
		}
		files = append(files, File{Name: path.Join(to, name), URLs: []string{joinURL(folder, name)}, MD5: sum})
	}
	return files, nil
}
