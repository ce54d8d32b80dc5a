package download

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// manifestFormat is the version of the manifest's form that this package reads.
const manifestFormat = 1

func (m *Manifest) validate() error {
	if m.Format != manifestFormat {
		return fmt.Errorf("format is %d, want %d", m.Format, manifestFormat)
	}
	errs := []error{m.validateLicenses()}
	seen := map[string]bool{}
	for i := range m.Items {
		it := &m.Items[i]
		id := string(it.Kind) + " " + plainName(it.Name)
		if seen[id] {
			errs = append(errs, fmt.Errorf("%s %s is listed twice", it.Kind, it.Name))
		}
		seen[id] = true
		if _, ok := m.Licenses[it.License]; !ok {
			errs = append(errs, fmt.Errorf("%s %s: unknown licence %q", it.Kind, it.Name, it.License))
		}
		if err := it.validate(); err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", it.Kind, it.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (m *Manifest) validateLicenses() error {
	var errs []error
	for key, license := range m.Licenses {
		if license.Name == "" || license.Summary == "" || checkURL(license.URL) != nil {
			errs = append(errs, fmt.Errorf("licence %q: want name, url and summary", key))
		}
	}
	return errors.Join(errs...)
}

func (it *Item) validate() error {
	if err := it.validateKind(); err != nil {
		return err
	}
	errs := []error{it.OpenImages.validate(), it.Folder.validate()}
	names := map[string]bool{}
	for i := range it.Files {
		f := &it.Files[i]
		if names[f.Name] {
			errs = append(errs, fmt.Errorf("file %s is listed twice", f.Name))
		}
		names[f.Name] = true
		if err := f.validate(); err != nil {
			errs = append(errs, fmt.Errorf("file %q: %w", f.Name, err))
		}
		if f.Registration && len(it.Steps) == 0 {
			errs = append(errs, fmt.Errorf("file %s needs registration, but there are no steps", f.Name))
		}
	}
	return errors.Join(errs...)
}

// validateKind checks what an item is, before what it has.
func (it *Item) validateKind() error {
	switch {
	case it.Kind != Dataset && it.Kind != Model:
		return fmt.Errorf("kind is %q, want %s or %s", it.Kind, Dataset, Model)
	case !it.named():
		return errors.New("want a name without slashes and spaces, and a title")
	}
	return it.validateSource()
}

// validateSource checks where the contents come from, and their layout.
func (it *Item) validateSource() error {
	_, known := layouts()[it.Layout]
	switch {
	case len(it.Files) == 0 && it.Folder == nil:
		return errors.New("has neither files nor a folder")
	case it.Folder != nil && len(it.Steps) == 0:
		return errors.New("has a folder, but no steps that lead to it")
	case !known:
		return fmt.Errorf("unknown layout %q", it.Layout)
	case (it.Layout == LayoutOpenImages) != (it.OpenImages != nil):
		return errors.New("openimages belongs to the layout openimages")
	}
	return nil
}

// named reports whether the item has a name that may be that of a folder, and a title.
func (it *Item) named() bool {
	return it.Name != "" && it.Title != "" && !strings.ContainsAny(it.Name, `/\ `) && filepath.IsLocal(it.Name)
}

func (f *File) validate() error {
	var errs []error
	if err := checkPath(f.Name); err != nil && (f.R2 == "" || f.Name != ".") {
		errs = append(errs, err)
	}
	if (f.R2 == "") == (len(f.URLs) == 0) {
		errs = append(errs, errors.New("want either urls or r2"))
	}
	for _, u := range f.URLs {
		errs = append(errs, checkURL(u))
	}
	if f.R2 != "" {
		errs = append(errs, checkURL(f.R2))
	}
	return errors.Join(append(errs, f.validateContents(), f.Unpack.validate())...)
}

// validateContents checks what is known of a file.
func (f *File) validateContents() error {
	errs := []error{checkHex("md5", f.MD5, 16), checkHex("sha256", f.SHA256, 32)}
	if f.Size < 0 {
		errs = append(errs, fmt.Errorf("size is %d", f.Size))
	}
	for name, sum := range f.Inside {
		errs = append(errs, checkPath(name), checkHex("md5 of "+name, sum, 16))
	}
	return errors.Join(errs...)
}

func (u *Unpack) validate() error {
	if u == nil {
		return nil
	}
	var errs []error
	if !slices.Contains([]string{"zip", "tar", "tar.gz", "tar.bz2"}, u.Format) {
		errs = append(errs, fmt.Errorf("cannot unpack %q, want zip, tar, tar.gz or tar.bz2", u.Format))
	}
	if u.Strip < 0 {
		errs = append(errs, fmt.Errorf("strip is %d", u.Strip))
	}
	if u.Into != "" {
		errs = append(errs, checkPath(u.Into))
	}
	for _, pattern := range u.Only {
		errs = append(errs, checkPattern(pattern))
	}
	for _, to := range u.Rename {
		errs = append(errs, checkPath(to))
	}
	return errors.Join(errs...)
}

func (f *Folder) validate() error {
	if f == nil {
		return nil
	}
	var errs []error
	for _, pattern := range f.Files {
		errs = append(errs, checkPattern(pattern))
	}
	for to, from := range f.Copy {
		errs = append(errs, checkPath(to), checkPath(from))
	}
	return errors.Join(errs...)
}

func (o *OpenImages) validate() error {
	if o == nil {
		return nil
	}
	errs := []error{checkPath(o.Boxes), checkPath(o.Names), checkPath(o.Images), checkPath(o.Labels), checkURL(o.URL)}
	if o.List != "" {
		errs = append(errs, checkPath(o.List))
	}
	if !strings.Contains(o.URL, "{id}") {
		errs = append(errs, fmt.Errorf("address %s of images has no {id}", o.URL))
	}
	return errors.Join(errs...)
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return fmt.Errorf("%q is not an address of http or https", s)
	}
	return nil
}

func checkPattern(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("pattern %q: %w", pattern, err)
	}
	return nil
}

func checkHex(name, sum string, size int) error {
	b, err := hex.DecodeString(sum)
	if sum != "" && (err != nil || len(b) != size || strings.ToLower(sum) != sum) {
		return fmt.Errorf("%s is %q, want %d lower-case hex digits", name, sum, 2*size)
	}
	return nil
}
