package download

import (
	"path"
	"path/filepath"
	"slices"
)

// For lists the items of a kind that a benchmark uses.
func (m *Manifest) For(kind Kind, benchmark func(name string) bool) (items []Item) {
	for _, it := range m.Items {
		if it.Kind == kind && slices.ContainsFunc(it.For, benchmark) {
			items = append(items, it)
		}
	}
	return items
}

// Official names the official file with one of these checksums, by its item, among the models of a benchmark; empty: none
// has it. Sums may be empty.
func (m *Manifest) Official(benchmark func(name string) bool, sha256, md5 string) string {
	for _, it := range m.For(Model, benchmark) {
		for _, f := range it.Files {
			if f.SHA256 != "" && f.SHA256 == sha256 || f.MD5 != "" && f.MD5 == md5 {
				return f.Name + " of the item " + it.Name
			}
		}
	}
	return ""
}

// HasMD5 reports whether a publisher of models of a benchmark gives the MD5 of a file with this extension, so that it is
// worth computing.
func (m *Manifest) HasMD5(benchmark func(name string) bool, ext string) bool {
	return slices.ContainsFunc(m.For(Model, benchmark), func(it Item) bool {
		return slices.ContainsFunc(it.Files, func(f File) bool { return f.MD5 != "" && f.Unpack == nil && path.Ext(f.Name) == ext })
	})
}

// Fetched names the file that a download put there, if its publisher gives no checksum and it still has the one of then;
// empty: it is none. The record of the download says so, and can be forged.
func (m *Manifest) Fetched(benchmark func(name string) bool, file, sha256 string) string {
	dir := filepath.Dir(file)
	if name := m.fetchedInto(dir, benchmark, file, sha256); name != "" {
		return name
	}
	return m.fetchedInto(filepath.Dir(dir), benchmark, file, sha256) // items of several files have folders
}

func (m *Manifest) fetchedInto(dir string, benchmark func(name string) bool, file, sha256 string) string {
	root, err := openFolder(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	r, ok := readReceipt(root)
	if !ok || r.Kind != Model {
		return ""
	}
	it, err := m.Lookup(Model, r.Name)
	if err != nil || !slices.ContainsFunc(it.For, benchmark) {
		return ""
	}
	below, err := filepath.Rel(dir, file)
	name := filepath.ToSlash(below)
	list, errSums := readSums(root)
	if err != nil || errSums != nil || list.sums[name] != sha256 {
		return ""
	}
	if slices.ContainsFunc(it.Files, func(f File) bool { return f.Name == name && f.hasChecksum() }) {
		return "" // which the file does not have, or it would be official
	}
	return name + " of the item " + it.Name
}
