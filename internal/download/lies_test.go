package download

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestWhatIsNotTheFileIsAnError has servers that lie. None may leave a file.
func TestWhatIsNotTheFileIsAnError(t *testing.T) {
	data := randomBytes(3 * testChunk)
	page := "<!DOCTYPE html>\n<html><head><title>Sign in &amp; agree</title></head><body></body></html>"
	partial := func(w http.ResponseWriter, contentRange, length string, body []byte) bool {
		hijack(t, w, "206 Partial Content\nContent-Range: "+contentRange+length, body)
		return true
	}
	for name, c := range map[string]struct {
		fault func(w http.ResponseWriter, r *http.Request) bool
		file  File
		want  []string
	}{
		"an HTML page": {
			func(w http.ResponseWriter, _ *http.Request) bool { fmt.Fprint(w, page); return true },
			File{}, []string{"/m.onnx answers with an HTML page", "Sign in & agree"}},
		"an HTML page called a file": {
			func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", "application/octet-stream")
				fmt.Fprint(w, page)
				return true
			},
			File{}, []string{"/m.onnx answers with an HTML page"}},
		"a login page after a redirect": {
			func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/login" {
					fmt.Fprint(w, page)
				} else {
					http.Redirect(w, r, "/login", http.StatusFound)
				}
				return true
			},
			File{}, []string{"/m.onnx leads to ", "/login, which answers with an HTML page"}},
		"a Git LFS pointer": {
			func(w http.ResponseWriter, _ *http.Request) bool {
				fmt.Fprint(w, "version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 12\n")
				return true
			},
			File{}, []string{"Git LFS pointer"}},
		"an error message in XML": {
			func(w http.ResponseWriter, _ *http.Request) bool {
				fmt.Fprint(w, `<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>`)
				return true
			},
			File{}, []string{"XML error"}},
		"a wrong checksum":            {nil, File{MD5: md5Of([]byte("other"))}, []string{"has MD5 " + md5Of(data), "want " + md5Of([]byte("other"))}},
		"a wrong SHA-256":             {nil, File{SHA256: sha256Of([]byte("other"))}, []string{"has SHA-256"}},
		"another size than published": {nil, File{Size: 3001}, []string{"has 3000 bytes there, want 3001"}},
		"nothing at all": {
			func(w http.ResponseWriter, _ *http.Request) bool { hijack(t, w, "200 OK", nil); return true },
			File{}, []string{"unexpected EOF"}},
		"a body that is always too short": {
			func(w http.ResponseWriter, _ *http.Request) bool {
				hijack(t, w, "200 OK\nContent-Length: 3000", data[:2999])
				return true
			},
			File{}, []string{"given up after 3 attempts", "after 2999 bytes"}},
		"more than the range": {
			func(w http.ResponseWriter, r *http.Request) bool {
				from, to := rangeOf(t, r)
				return partial(w, fmt.Sprintf("bytes %d-%d/3000", from, to), "", append(slices.Clone(data[from:to+1]), 'x'))
			},
			File{}, []string{"sends more than the 1000 bytes"}},
		"more than the published size": {
			func(w http.ResponseWriter, _ *http.Request) bool { hijack(t, w, "200 OK", data); return true },
			File{Size: 2000}, []string{"sends more than the 2000 bytes"}},
		"less than the published size": {
			func(w http.ResponseWriter, _ *http.Request) bool { hijack(t, w, "200 OK", data); return true },
			File{Size: 4000}, []string{"broke off after 3000 of 4000 bytes"}},
		"another range": {
			func(w http.ResponseWriter, _ *http.Request) bool {
				return partial(w, "bytes 5-1004/3000", "", data[5:1005])
			},
			File{}, []string{`the range "bytes 5-1004/3000", asked for were the bytes 0 to 999`}},
		"a range that is none": {
			func(w http.ResponseWriter, _ *http.Request) bool { return partial(w, "bytes */3000", "", data) },
			File{}, []string{`the range "bytes */3000"`}},
		"a range and another length": {
			func(w http.ResponseWriter, _ *http.Request) bool {
				return partial(w, "bytes 0-999/3000", "\nContent-Length: 999", data[:999])
			},
			File{}, []string{"announces 999 bytes for the range"}},
		"an endless number": {
			func(w http.ResponseWriter, _ *http.Request) bool {
				return partial(w, "bytes 0-999/99999999999999999999", "", data[:1000])
			},
			File{}, []string{"which is not understood"}},
		"compressed contents": {
			func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Encoding", "gzip")
				fmt.Fprint(w, "xxxx")
				return true
			},
			File{}, []string{"encoded as gzip"}},
		"a refusal": {
			func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true },
			File{}, []string{"answers 403 Forbidden: it wants a login"}},
		"a missing file": {
			func(w http.ResponseWriter, r *http.Request) bool { http.NotFound(w, r); return true },
			File{}, []string{"answers 404 Not Found"}},
		"a server in trouble": {
			func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true },
			File{}, []string{"given up after 3 attempts", "502 Bad Gateway"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.put("m.onnx", data)
			if c.fault != nil {
				s.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool { return c.fault(w, r) }
			}
			c.file.Name, c.file.URLs = "m.onnx", []string{s.URL + "/m.onnx"}
			m, it := plainItem(c.file)
			o, _ := options(t)
			_, err := Get(t.Context(), m, it, o)
			if err == nil {
				t.Fatal("Get succeeds")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("Get = %v, want %q", err, part)
				}
			}
			wantNothing(t, o)
			if !strings.Contains(err.Error(), s.URL) {
				t.Errorf("Get = %v, which does not name the address", err)
			}
		})
	}
}
