package download

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAFileContinuesOnlyIfItIsTheSame(t *testing.T) {
	was := &journal{URL: "http://a/f", ETag: `"1"`, Modified: "Monday", Size: 100}
	bare := &journal{URL: "http://a/f", Size: 100}
	for _, c := range []struct {
		name     string
		journal  *journal
		now      remote
		checksum bool
		want     string // "" if it goes on
	}{
		{"the same", was, remote{url: "http://a/f", etag: `"1"`, modified: "Monday", size: 100}, false, ""},
		{"another size", was, remote{url: "http://a/f", etag: `"1"`, modified: "Monday", size: 99}, true, "its size was 100 and is 99"},
		{"another ETag", was, remote{url: "http://a/f", etag: `"2"`, modified: "Monday", size: 100}, true, `its ETag was "\"1\"" and is "\"2\""`},
		{"no ETag any more", was, remote{url: "http://a/f", modified: "Monday", size: 100}, true, `is ""`},
		{"another date", was, remote{url: "http://a/f", etag: `"1"`, modified: "Tuesday", size: 100}, true, `it was changed at "Monday" and now at "Tuesday"`},
		{"another address and a checksum", was, remote{url: "http://b/f", etag: `"9"`, size: 100}, true, ""},
		{"another address and none", was, remote{url: "http://b/f", etag: `"1"`, modified: "Monday", size: 100}, false, "it was begun from http://a/f, and no checksum is known"},
		{"nothing to tell it by", bare, remote{url: "http://a/f", size: 100}, false, "the server gives neither ETag nor date, and no checksum is known"},
		{"nothing but a checksum", bare, remote{url: "http://a/f", size: 100}, true, ""},
		{"an ETag that is new", bare, remote{url: "http://a/f", etag: `"1"`, size: 100}, false, `its ETag was "" and is`},
	} {
		err := c.journal.continues(c.now, c.checksum)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestWhatIsMissingAndWhatIsThereAreTheWhole(t *testing.T) {
	j := newJournal(remote{size: 1050}, 100)
	for i := range j.Done {
		j.Done[i] = i%3 == 0
	}
	bytes := int64(0)
	for _, i := range j.missing() {
		if j.Done[i] {
			t.Errorf("chunk %d is there and missing", i)
		}
		from, to := j.bounds(i)
		bytes += to - from + 1
	}
	if bytes+j.have() != 1050 || j.have() != 400 {
		t.Errorf("%d bytes are missing, %d are there, want 1050 together", bytes, j.have())
	}
}

// A journal may be anything that a disk makes of it: one that does not fit is none.
func TestJournalsThatDoNotFitTheirFileAreNotBelieved(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	good := newJournal(remote{url: "http://a/f", size: 250}, 100)
	write := func(part int, text string) {
		if err := os.WriteFile(filepath.Join(root.Name(), "f.part"), make([]byte, part), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root.Name(), "f.part"+journalSuffix), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	write(250, string(text))
	if j := readJournal(root, "f.part"); j == nil || j.Size != 250 || !slices.Equal(j.missing(), []int{0, 1, 2}) {
		t.Fatalf("the journal is read as %+v", j)
	}
	for name, c := range map[string]struct {
		part     int
		old, new string
	}{
		"a shorter file":     {249, "", ""},
		"another format":     {250, `"format":1`, `"format":2`},
		"too few chunks":     {250, `[false,false,false]`, `[false,false]`},
		"too many chunks":    {250, `[false,false,false]`, `[false,false,false,true]`},
		"chunks of nothing":  {250, `"chunk":100`, `"chunk":0`},
		"negative chunks":    {250, `"chunk":100`, `"chunk":-100`},
		"a negative size":    {250, `"size":250`, `"size":-250`},
		"half a journal":     {250, `"done"`, ``},
		"numbers for truths": {250, `[false`, `[0`},
	} {
		write(c.part, strings.Replace(string(text), c.old, c.new, 1))
		if j := readJournal(root, "f.part"); j != nil {
			t.Errorf("%s: the journal is believed: %+v", name, j)
		}
	}
	if j := readJournal(root, "other.part"); j != nil {
		t.Errorf("a journal that is not there: %+v", j)
	}
}

func TestEntriesGoWhereTheManifestSays(t *testing.T) {
	for _, c := range []struct {
		unpack Unpack
		name   string
		want   string // "" if it is left out
	}{
		{Unpack{}, "a/b", "a/b"}, {Unpack{}, "./a//b/", "a/b"}, {Unpack{}, "./", ""}, {Unpack{}, ".", ""},
		{Unpack{Strip: 1}, "a/b/c", "b/c"}, {Unpack{Strip: 1}, "a", ""}, {Unpack{Strip: 2}, "a/b", ""}, {Unpack{Strip: 9}, "a/b", ""},
		{Unpack{Into: "in/to"}, "a", "in/to/a"}, {Unpack{Into: "in", Strip: 1}, "a/b", "in/b"},
		{Unpack{Only: []string{"a/*"}}, "a/b", "a/b"}, {Unpack{Only: []string{"a/*"}}, "a/b/c", ""}, {Unpack{Only: []string{"x", "a"}}, "a", "a"},
		{Unpack{Rename: map[string]string{"a": "b/c"}, Strip: 5, Into: "in"}, "a", "in/b/c"},
		{Unpack{Rename: map[string]string{"a": "b"}, Strip: 1}, "a/x", "x"},
	} {
		if got, err := c.unpack.entryPath(c.name); err != nil || got != c.want {
			t.Errorf("%q of %+v goes to %q, %v, want %q", c.name, c.unpack, got, err, c.want)
		}
	}
	if got, err := (&Unpack{Strip: 1}).entryPath("a/" + stateDir + "/lock"); err == nil || !strings.Contains(err.Error(), "is ours") {
		t.Errorf("an entry that becomes ours without its first element goes to %q, %v", got, err)
	}
}

func TestListsOfChecksumsAreReadAsTheyAreWritten(t *testing.T) {
	sum := md5Of(nil)
	good := sum + "  a.bin\r\n" + sum + " *dir/b c.bin\n" + sum + "  ./d.bin\n\n"
	files, err := parseR2("in", "https://example.org/set/", []byte(good))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Name+" "+f.URLs[0])
		if f.MD5 != sum {
			t.Errorf("%s has MD5 %s", f.Name, f.MD5)
		}
	}
	want := []string{"in/a.bin https://example.org/set/a.bin", "in/dir/b c.bin https://example.org/set/dir/b%20c.bin", "in/d.bin https://example.org/set/d.bin"}
	if !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	for text, want := range map[string]string{
		"":                               `line 1: want an MD5 and a path, got ""`,
		"\n":                             "line 1: want an MD5 and a path",
		sum:                              "line 1: want an MD5 and a path",
		sum[:31] + "  a":                 "line 1: want an MD5 and a path",
		strings.ToUpper(sum) + "  a":     "line 1: want an MD5 and a path",
		sum + "  a\n" + sum + "  ./a\n":  "line 2: a is listed twice",
		sum + "  a\n" + sum + "  ../b\n": `line 2: path "../b" leaves the folder`,
		sum + "  /etc/passwd":            "leaves the folder",
		sum + "  a\x1b[2J":               "want no control characters",
	} {
		if files, err := parseR2(".", "https://example.org", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseR2(%q) = %v, %v, want an error with %q", text, files, err, want)
		}
	}
	if _, err := parseR2(".", "ftp://example.org", []byte(good)); err == nil || !strings.Contains(err.Error(), "is not an address of http or https") {
		t.Errorf("a list of files elsewhere: %v", err)
	}
}

func TestServersSayWhenToAskAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for header, want := range map[string]time.Duration{
			"": 0, "5": 5 * time.Second, "0": 0, "-5": 0, "soon": 0, "100000": longestPause, "99999999999999999999": 0,
			time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat): 30 * time.Second,
			time.Now().Add(24 * time.Hour).UTC().Format(http.TimeFormat):   longestPause,
		} {
			resp := &http.Response{StatusCode: 503, Header: http.Header{"Retry-After": {header}}, Request: &http.Request{URL: &url.URL{Scheme: "http", Host: "a"}}}
			e := newStatusError(resp).(*statusError)
			if got := max(e.after, 0).Round(time.Second); got != want {
				t.Errorf("Retry-After %q: %v, want %v", header, got, want)
			}
			if (e.Unwrap() == nil) != (want == 0) {
				t.Errorf("Retry-After %q: %v is passed on", header, e.Unwrap())
			}
		}
	})
}

func TestWhatMayPassIsAskedForAgain(t *testing.T) {
	for code, want := range map[int]bool{400: false, 401: false, 403: false, 404: false, 408: true, 410: false, 425: true, 429: true, 500: true, 501: false, 502: true, 503: true, 504: true, 505: false} {
		if got := passing(&statusError{code: code}); got != want {
			t.Errorf("status %d may pass: %v, want %v", code, got, want)
		}
	}
	if passing(final("for good")) || !passing(os.ErrDeadlineExceeded) {
		t.Error("a final error may pass, or one of the network may not")
	}
}

func TestAddressesAreShownWithoutTheirSecrets(t *testing.T) {
	for address, want := range map[string]string{
		"https://a.org/f":                  "https://a.org/f",
		"https://me:hidden@a.org/f":        "https://me:xxxxx@a.org/f",
		"https://a.org/f?X-Signature=abcd": "https://a.org/f?…",
		"http://a b":                       "an address that is none",
	} {
		if got := shown(address); got != want {
			t.Errorf("shown(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestThePathsBelowAFolder(t *testing.T) {
	for _, c := range []struct {
		name, first, rest string
		ok                bool
	}{
		{"case_1/a", "case_1", "a", true}, {"case_1/b/c", "case_1", "b/c", true}, {"case_10/a", "case_1", "", false}, {"case_2/a", "case_1", "", false},
		{"case_1", "case_1", "", false}, {"case_1/", "case_1", "", false}, {"", "case_1", "", false}, {"a/case_1/b", "case_1", "", false},
	} {
		if rest, ok := cutElement(c.name, c.first); rest != c.rest || ok != c.ok {
			t.Errorf("%q below %s: %q, %v, want %q, %v", c.name, c.first, rest, ok, c.rest, c.ok)
		}
	}
}
