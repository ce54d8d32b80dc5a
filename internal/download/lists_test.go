package download

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

func rootOf(t *testing.T) *os.Root {
	t.Helper()
	dir := t.TempDir()
	mustDo(t, os.Mkdir(filepath.Join(dir, stateDir), 0o755))
	root, err := os.OpenRoot(dir)
	mustDo(t, err)
	t.Cleanup(func() { root.Close() })
	return root
}

func TestLinesOfSHA256SUMSAreReadAsSha256sumWritesThem(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	for _, c := range []struct {
		name, text string
		want       []string // names
	}{
		{"one", sum + "  a.bin\n", []string{"a.bin"}},
		{"a path with spaces", sum + "  dir/a  b.bin\n", []string{"dir/a  b.bin"}},
		{"lines of Windows", sum + "  a.bin\r\n" + sum + "  b.bin\r\n", []string{"a.bin", "b.bin"}},
		{"a name that ends in a carriage return cannot be told from that", sum + "  a\r\r\n", nil},
		{"the last of two that are equal", sum + "  a.bin\n" + sum + "  a.bin\n", []string{"a.bin"}},
		{"a line that was cut off in its name", sum + "  a.bin\n" + sum + "  b.b", []string{"a.bin"}},
		{"a line that was cut off in its checksum", sum + "  a.bin\n" + sum[:40], []string{"a.bin"}},
		{"a checksum in capitals", strings.ToUpper(sum) + "  a.bin\n", nil},
		{"a checksum of another kind", sum[:40] + "  a.bin\n", nil},
		{"no digits", strings.Repeat("zz", 32) + "  a.bin\n", nil},
		{"one space", sum + " a.bin\n", nil},
		{"a path that leaves", sum + "  ../a.bin\n" + sum + "  /b.bin\n" + sum + "  c/../../d\n", nil},
		{"a path of ours", sum + "  " + stateDir + "/lock\n", nil},
		{"empty lines", "\n\n" + sum + "  a.bin\n\n", []string{"a.bin"}},
		{"nothing", "", nil},
	} {
		got := (&sumList{sums: parseSums([]byte(c.text))}).names()
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAListHasWhatWasAddedByAllAtOnceEvenIfNobodyClosesIt(t *testing.T) {
	root := rootOf(t)
	l, err := openSums(root)
	mustDo(t, err)
	want := map[string]string{}
	var group sync.WaitGroup
	for i := range 50 {
		name, sum := fmt.Sprintf("d/%d.bin", i), sha256Of([]byte{byte(i)})
		want[name] = sum
		group.Go(func() {
			if err := l.add(name, sum); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	// The process is killed here, in the middle of a line.
	file, err := root.OpenFile(sumsFile, os.O_WRONLY|os.O_APPEND, 0)
	mustDo(t, err)
	fmt.Fprintf(file, "%s  d/", strings.Repeat("a", 64))
	mustDo(t, file.Close())
	again, err := openSums(root)
	mustDo(t, err)
	if !reflect.DeepEqual(again.sums, want) {
		t.Errorf("%d sums are there, want %d", len(again.sums), len(want))
	}
	mustDo(t, again.add("e.bin", strings.Repeat("b", 64)))
	mustDo(t, again.rewrite())
	mustDo(t, again.close())
	mustDo(t, again.close()) // a second time is nothing
	text, err := readFile(root, sumsFile)
	mustDo(t, err)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) != 51 || !slices.IsSortedFunc(lines, func(a, b string) int { return strings.Compare(a[66:], b[66:]) }) {
		t.Errorf("the file has %d lines, want 51 in the order of the names:\n%s", len(lines), text)
	}
	mustDo(t, l.close())
}

func TestAListIsComparedWithItsFiles(t *testing.T) {
	root := rootOf(t)
	l := &sumList{root: root, sums: map[string]string{}}
	for i := range 5 {
		name := fmt.Sprintf("%d.bin", i)
		data := []byte(strings.Repeat("x", i+1))
		mustDo(t, root.WriteFile(name, data, 0o644))
		l.sums[name] = sha256Of(data)
	}
	check := func() (files int, size int64, problems []string, err error) {
		files, size, err = l.verify(t.Context(), silence{}, func(text string) { problems = append(problems, text) })
		slices.Sort(problems)
		return files, size, problems, err
	}
	if files, size, problems, err := check(); files != 5 || size != 15 || problems != nil || err != nil {
		t.Errorf("%d files of %d bytes, %q, %v", files, size, problems, err)
	}
	mustDo(t, root.WriteFile("1.bin", []byte("yy"), 0o644))
	mustDo(t, root.Remove("2.bin"))
	mustDo(t, root.Remove("3.bin"))
	mustDo(t, root.Mkdir("3.bin", 0o755))
	files, size, problems, err := check()
	want := []string{"1.bin is not as it was installed: its SHA-256 has changed", "2.bin is missing", "open 3.bin: it is not a file"}
	if files != 5 || size != 6 || !slices.Equal(problems, want) || err != nil {
		t.Errorf("%d files of %d bytes, %q, %v, want %q", files, size, problems, err, want)
	}
	stopped, stop := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	stop(enough)
	if _, _, err := l.verify(stopped, silence{}, func(text string) { t.Error(text) }); !errors.Is(err, enough) {
		t.Errorf("when nobody waits: %v", err)
	}
}

func TestAFileIsComparedWithAllThatIsKnownOfIt(t *testing.T) {
	data := []byte("hello")
	got := sums{5, md5Of(data), sha256Of(data)}
	other := []byte("other")
	for _, c := range []struct {
		name string
		want want
		err  string // empty: none
	}{
		{"nothing is known", want{}, ""},
		{"all is right", want{5, got.MD5, got.SHA256}, ""},
		{"the size", want{size: 5}, ""}, {"the MD5", want{md5: got.MD5}, ""}, {"the SHA-256", want{sha256: got.SHA256}, ""},
		{"another size", want{4, got.MD5, got.SHA256}, "f has 5 bytes, want 4"},
		{"another MD5", want{5, md5Of(other), got.SHA256}, "f has MD5 " + got.MD5 + ", want " + md5Of(other)},
		{"another SHA-256, which is named first", want{5, md5Of(other), sha256Of(other)}, "f has SHA-256 " + got.SHA256 + ", want " + sha256Of(other)},
	} {
		if err := c.want.check(got, "f"); (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%s: %v, want %q", c.name, err, c.err)
		}
		if c.want.known() != (c.want.md5+c.want.sha256 != "") {
			t.Errorf("%s: a checksum is known: %t", c.name, c.want.known())
		}
	}
	for _, c := range []struct {
		want  want
		empty bool
	}{
		{want{}, false}, {want{size: 0, md5: md5Of(nil)}, true}, {want{sha256: sha256Of(nil)}, true}, {want{md5: md5Of(data)}, false}, {want{size: 3, md5: md5Of(nil)}, false},
	} {
		if got := c.want.empty(); got != c.empty {
			t.Errorf("%+v is of an empty file: %t, want %t", c.want, got, c.empty)
		}
	}
}

func TestChecksumsDoNotDependOnThePiecesThatAreRead(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	data := randomBytes(100_003)
	for range 5 {
		read := 0
		r := &ragged{bytes.NewReader(data), draw}
		got, err := sumReader(t.Context(), r, func(n int) { read += n })
		if want := (sums{int64(len(data)), md5Of(data), sha256Of(data)}); got != want || err != nil || read != len(data) {
			t.Errorf("%+v after %d bytes, %v, want %+v", got, read, err, want)
		}
	}
	ctx, stop := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	if _, err := sumReader(ctx, io.MultiReader(bytes.NewReader(data), rest(func() { stop(enough) }), bytes.NewReader(data)), nil); !errors.Is(err, enough) {
		t.Errorf("when nobody waits: %v", err)
	}
}

// A ragged reader gives pieces of any length.
type ragged struct {
	io.Reader
	draw *rand.Rand
}

func (r *ragged) Read(p []byte) (int, error) {
	return r.Reader.Read(p[:1+r.draw.IntN(min(len(p), 5000))])
}

// rest is a reader of nothing, that does something when it is read.
type rest func()

func (r rest) Read([]byte) (int, error) { r(); return 0, io.EOF }

// drawJSON is a random value as an annotation file may have it.
func drawJSON(draw *rand.Rand, depth int) any {
	switch n := draw.IntN(6); {
	case n == 0 && depth > 0:
		list := make([]any, draw.IntN(4))
		for i := range list {
			list[i] = drawJSON(draw, depth-1)
		}
		return list
	case n == 1 && depth > 0:
		object := map[string]any{}
		for range draw.IntN(4) {
			object[string(rune('a'+draw.IntN(26)))] = drawJSON(draw, depth-1)
		}
		return object
	case n == 2:
		return draw.Float64() * 1e3
	case n == 3:
		return []any{nil, true, false}[draw.IntN(3)]
	case n == 4:
		return []string{"", "ä", "\"\\/\n\t", "<&>", "\u2028", "日本"}[draw.IntN(6)]
	}
	return float64(draw.IntN(1 << 30))
}

// What is cut of an annotation file is what a plain program cuts that knows all of JSON.
func TestAnnotationsAreCutAndElseLeftAsTheyAre(t *testing.T) {
	draw := rand.New(rand.NewPCG(5, 8))
	for range 200 {
		document := map[string]any{"info": drawJSON(draw, 3), "categories": drawJSON(draw, 2)}
		keep := map[string]bool{}
		var images, annotations, keptImages, keptAnnotations []any
		for id := range 1 + draw.IntN(5) {
			image := map[string]any{"id": float64(id), "file_name": fmt.Sprintf("%d.jpg", id), "extra": drawJSON(draw, 2)}
			images = append(images, image)
			kept := draw.IntN(2) == 0
			if keep[fmt.Sprintf("%d.jpg", id)] = kept; kept {
				keptImages = append(keptImages, image)
			}
			for range draw.IntN(3) {
				a := map[string]any{"id": float64(draw.IntN(100)), "image_id": float64(id), "bbox": drawJSON(draw, 2)}
				annotations = append(annotations, a)
				if kept {
					keptAnnotations = append(keptAnnotations, a)
				}
			}
		}
		document["images"], document["annotations"] = images, annotations
		text, err := json.Marshal(document)
		mustDo(t, err)
		c, err := parseCOCO(text)
		mustDo(t, err)
		wantJSON(t, c.bytes(), document)
		c.cut(keep)
		document["images"], document["annotations"] = keptImages, keptAnnotations
		wantJSON(t, c.bytes(), document)
	}
}

// wantJSON compares a text with what it should say; a list that is empty may be null.
func wantJSON(t *testing.T, text []byte, want map[string]any) {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	for _, key := range []string{"images", "annotations"} {
		if list, _ := want[key].([]any); len(list) == 0 {
			want[key] = []any{}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestAnnotationsThatAreNoneAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "want a JSON object",
		"[]":                              "want a JSON object",
		`{"images": []}`:                  "it lists no images",
		`{"images": {}}`:                  "images: ",
		`{"images": [1]}`:                 "images: entry 0: ",
		`{"images": [null]}`:              "images: entry 0: want a JSON object",
		`{"images": [{"id": "a"}]}`:       "images: entry 0: ",
		`{"images": [{"id": 1}], "annot`:  "unexpected EOF",
		`{"images": [{"id": 1}]`:          "EOF",
		`{"images": [{"id": 1}]}{}`:       "something follows",
		`{"images": [{"id": 1}]} trailer`: "something follows",
		`{"images": [{"id": 1.5}]}`:       "images: entry 0: ",
		`{"images": [{"id": 1}], "annotations": [{"image_id": 1e99}]}`: "annotations: entry 0: ",
	} {
		if c, err := parseCOCO([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %q", text, c, err, want)
		}
	}
	c, err := parseCOCO([]byte(`{"a": 1, "images": [{"id": 1, "id": 2, "file_name": "x"}], "a": [2]}` + "\r\n "))
	if err != nil || string(c.bytes()) != `{"a": [2], "images": [{"id": 2, "file_name": "x"}]}`+"\n" {
		t.Errorf("of a key that comes twice the last counts: %v\n%s", err, c.bytes())
	}
}
