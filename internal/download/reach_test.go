package download

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWhereNobodyAnswersTheWordComesInSeconds(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close() // from now on connections are refused
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{"http://" + address + "/m.onnx", "http://" + address + "/other/m.onnx"}})
	o, n := options(t)
	o.pace = usualPace()
	begun := time.Now()
	_, err = Get(t.Context(), manifestOf(it), it, o)
	var lost *UnreachableError
	if !errors.As(err, &lost) || lost.Host != address {
		t.Errorf("Get = %v, want that %s cannot be reached", err, address)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if n.has("trying again") {
		t.Errorf("notes: %q", n.lines)
	}
}

func TestTheMirrorMayBeTheOnlySource(t *testing.T) {
	data := randomBytes(testChunk)
	official, mirror := newServer(t), newServer(t)
	official.put("m.onnx", data)
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{official.URL + "/m.onnx"}})
	o, _ := options(t)
	o.Mirror, o.MirrorOnly = mirror.URL, true
	if _, err := Get(t.Context(), manifestOf(it), it, o); err == nil || !strings.Contains(err.Error(), mirror.URL+"/m.onnx answers 404") {
		t.Errorf("Get = %v, want what the mirror answers", err)
	}
	mirror.put("m.onnx", data)
	mustGet(t, it, o)
	wantFile(t, o, "m.onnx", data)
	if n := official.requests.Load(); n != 0 {
		t.Errorf("the official server was asked %d times", n)
	}
	t.Run("also of lists", func(t *testing.T) {
		official.put("set.uri", []byte(official.URL+"/set"))
		official.put("set.md5", []byte(md5Of(data)+"  a.bin\n"))
		official.put("set/a.bin", data)
		_, it := plainItem(File{Name: ".", R2: official.URL + "/set"})
		o, _ := options(t)
		o.Mirror, o.MirrorOnly = mirror.URL, true
		if _, err := Get(t.Context(), manifestOf(it), it, o); err == nil || official.requests.Load() != 0 {
			t.Errorf("Get = %v after %d requests at the official server", err, official.requests.Load())
		}
		o.MirrorOnly = false // then the official one helps
		mustGet(t, it, o)
		wantFile(t, o, "a.bin", data)
	})
}

// TestCredentialsStayWithTheirServer has a mirror with a password that sends us elsewhere.
func TestCredentialsStayWithTheirServer(t *testing.T) {
	data := randomBytes(3 * testChunk)
	elsewhere, mirror := newServer(t), newServer(t)
	elsewhere.put("m.onnx", data)
	elsewhere.fault = func(_ http.ResponseWriter, r *http.Request, _ int64) bool {
		if _, _, has := r.BasicAuth(); has || strings.Contains(r.Header.Get("Referer"), "hidden") {
			t.Errorf("the other server is told %v", r.Header)
		}
		return false
	}
	asked := 0
	mirror.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
		if user, password, _ := r.BasicAuth(); user == "me" && password == "hidden" {
			asked++
		}
		// Another host, not only another port, for which net/http keeps credentials.
		http.Redirect(w, r, strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1)+"/m.onnx?signature=hidden", http.StatusFound)
		return true
	}
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{"http://unreachable.invalid/m.onnx"}})
	o, n := options(t)
	o.Mirror = strings.Replace(mirror.URL, "http://", "http://me:hidden@", 1)
	mustGet(t, it, o)
	wantFile(t, o, "m.onnx", data)
	if asked == 0 {
		t.Error("the mirror was not told who asks")
	}
	if n.has("hidden") {
		t.Errorf("notes: %q", n.lines)
	}
	receipt, err := os.ReadFile(filepath.Join(o.Dir, receiptFile))
	if err != nil || strings.Contains(string(receipt), "hidden") {
		t.Errorf("the receipt is %s, %v", receipt, err)
	}
}

func TestNoErrorHasAPassword(t *testing.T) {
	for name, fault := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"a refusal":       func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true },
		"a page":          func(w http.ResponseWriter, _ *http.Request) bool { w.Write([]byte("<html>")); return true },
		"a broken answer": func(w http.ResponseWriter, _ *http.Request) bool { hijack(t, w, "nonsense", nil); return true },
		"an early end": func(w http.ResponseWriter, _ *http.Request) bool {
			hijack(t, w, "200 OK\nContent-Length: 9", []byte("x"))
			return true
		},
		"a wrong checksum": func(w http.ResponseWriter, _ *http.Request) bool {
			hijack(t, w, "200 OK\nContent-Length: 1", []byte("x"))
			return true
		},
		"a strange range": func(w http.ResponseWriter, _ *http.Request) bool {
			hijack(t, w, "206 Partial Content\nContent-Range: none", nil)
			return true
		},
		"a file of no bytes": func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool { return fault(w, r) }
			_, it := plainItem(File{Name: "m.onnx", URLs: []string{s.URL + "/m.onnx"}, MD5: md5Of([]byte("y"))})
			o, n := options(t)
			o.Mirror, o.MirrorOnly = strings.Replace(s.URL, "http://", "http://me:hidden@", 1), true
			_, err := Get(t.Context(), manifestOf(it), it, o)
			if err == nil || strings.Contains(err.Error(), "hidden") || n.has("hidden") {
				t.Errorf("Get = %v, notes %q", err, n.lines)
			}
		})
	}
}

func TestRedirectsThatWouldBeUnsafeAreNotFollowed(t *testing.T) {
	request := func(address string) *http.Request {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return &http.Request{URL: u}
	}
	loop := make([]*http.Request, maxRedirects+1)
	for i := range loop {
		loop[i] = request("https://a.example/")
	}
	for name, c := range map[string]struct {
		to    string
		via   []*http.Request
		wrong string
	}{
		"https to https":       {"https://b.example/x?y=z", loop[:1], ""},
		"http to https":        {"https://b.example/x", []*http.Request{request("http://a.example/")}, ""},
		"https to http":        {"http://b.example/x?key=secret", loop[:1], "from https to http://b.example/x?…,"},
		"to a file":            {"file:///etc/passwd", loop[:1], "not an address of http or https"},
		"to another protocol":  {"ftp://b.example/x", loop[:1], "not an address of http or https"},
		"in circles":           {"https://b.example/x", loop, "in circles"},
		"as often as may be":   {"https://b.example/x", loop[:maxRedirects], ""},
		"down after a way up":  {"http://b.example/x", []*http.Request{request("http://a.example/"), loop[0]}, "from https"},
		"to an address of air": {"https:///x", loop[:1], "not an address"},
	} {
		err := checkRedirect(request(c.to), c.via)
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: checkRedirect = %v, want %q", name, err, c.wrong)
		}
	}
}

func TestJournalsHaveNoPassword(t *testing.T) {
	data := randomBytes(50 * testChunk)
	s := newServer(t)
	s.put("m.onnx", data)
	_, it := plainItem(File{Name: "m.onnx", URLs: []string{strings.Replace(s.URL, "http://", "http://me:hidden@", 1) + "/m.onnx?token=hidden"}})
	o, n := options(t)
	interrupt(t, it, o, 30*testChunk)
	text, err := os.ReadFile(filepath.Join(o.Dir, flat("m.onnx")+partSuffix+journalSuffix))
	if err != nil || strings.Contains(string(text), "hidden") || json.Unmarshal(text, &journal{}) != nil {
		t.Errorf("the journal is %s, %v", text, err)
	}
	mustGet(t, it, o)
	if !n.has("going on after") {
		t.Errorf("notes: %q", n.lines)
	}
}
