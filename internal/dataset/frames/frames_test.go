package frames

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestQuestions(t *testing.T) {
	const table = "\tPrompt\tAnswer\twikipedia_link_1\twikipedia_link_2\twikipedia_link_11+\twiki_links\n" +
		"0\tWho wrote \"It\"?\tKing\thttps://a/wiki/It\t\thttps://a/wiki/King\t['x']\n" +
		"1\t\"Two\nlines, \"\"quoted\"\"\"\t7\t\t\t\t[]\n"
	dir := t.TempDir()
	write(t, filepath.Join(dir, "data/frames_dataset.tsv"), table)
	got, err := ReadQuestions(dir)
	want := []Question{
		{`Who wrote "It"?`, "King", []string{"https://a/wiki/It", "https://a/wiki/King"}},
		{"Two\nlines, \"quoted\"", "7", nil},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatalf("ReadQuestions: %v, (-want +got):\n%s", err, diff)
	}
}

func TestDamagedQuestions(t *testing.T) {
	for name, c := range map[string]struct {
		table, facts string
	}{
		"empty":      {"", "empty"},
		"commas":     {"Prompt,Answer\nx,y\n", "line 1 … Prompt … Answer … tabs"},
		"no prompt":  {"Prompt\tAnswer\nx\ty\n \tz\n", "line 3 … Prompt"},
		"short row":  {"Prompt\tAnswer\nx\n", "line 2 … fields"},
		"no row":     {"Prompt\tAnswer\n", "no question"},
		"not text":   {"Prompt\tAnswer\n\xff\xfe\ty\n", "UTF-8"},
		"not a page": {"<html></html>", "line 1 … html"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "frames_dataset.tsv"), c.table)
			_, err := ReadQuestions(dir)
			if !testenv.Names(err, "frames_dataset.tsv … "+c.facts) {
				t.Errorf("ReadQuestions: %v, want an error with %s", err, c.facts)
			}
		})
	}
}

func TestPages(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.html", "A_(x).v.html", "notes.txt"} {
		write(t, filepath.Join(dir, "doc_html", name), "")
	}
	p, err := OpenPages(dir)
	if err != nil || cmp.Diff([]string{"A_(x).v.html", "b.html"}, p.Names) != "" || p.Mapped() {
		t.Fatalf("OpenPages = %+v, %v", p, err)
	}
	write(t, filepath.Join(dir, "doc_html/url_mapping.json"), `{"b": "https://a/wiki/b", "A_(x).v": "https://a/wiki/A_(x).v"}`)
	if p, err = OpenPages(dir); err != nil || p.URL(0) != "https://a/wiki/A_(x).v" || !p.Mapped() {
		t.Fatalf("OpenPages with addresses = %+v, %v", p, err)
	}
	write(t, filepath.Join(dir, "doc_html/url_mapping.json"), `["b"]`)
	if _, err = OpenPages(dir); !testenv.Names(err, "url_mapping.json … object") {
		t.Errorf("a list of addresses: %v", err)
	}
	if _, err = OpenPages(t.TempDir()); !testenv.Names(err, "html … docs.tar.gz") {
		t.Errorf("no page: %v", err)
	}
}

func FuzzQuestions(f *testing.F) {
	f.Add([]byte("Prompt\tAnswer\twikipedia_link_1\nx\ty\tz\n"))
	f.Add([]byte("\"Prompt\"\tAnswer\n\"a\"\"b\"\t\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parseQuestions(data)
		if err == nil && len(list) == 0 {
			t.Error("no question, and no error")
		}
	})
}
