package download

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// A remote is a file as a server describes it.
type remote struct {
	url            string // as it may be printed
	asked          string // as asked for
	size           int64  // -1: not told
	etag, modified string
	ranges         bool
}

// An answer is the server's reply to a request for a range, or for a whole file.
type answer struct {
	remote
	from, to int64 // of the body; to is -1 if the end is not known
	body     *bufio.Reader
	close    func()
}

// A notAFileError is an answer with something else than the file: an error page, a login
// form, the pointer of a large file.
type notAFileError struct {
	URL, Final string // the address, and where it led to
	What       string
}

// Error implements error.
func (e *notAFileError) Error() string {
	led := ""
	if e.Final != e.URL {
		led = " leads to " + e.Final + ", which"
	}
	text := fmt.Sprintf("%s%s answers with %s instead of the file", e.URL, led, e.What)
	if strings.Contains(e.Final, ".cloudflareaccess.com/") {
		text += ": it wants a login as a member of MLCommons"
	}
	return text
}

// A shorterError is a file that has no bytes where some are asked for.
type shorterError struct {
	url  string
	from int64
}

func (e *shorterError) Error() string {
	return fmt.Sprintf("%s has no bytes from %d on: the file there is shorter, or empty", e.url, e.from)
}

// ask requests the bytes from…to of a file, and looks at what comes before it is used.
// If after the headers nothing comes for the time stall, that is an error.
func (s *servers) ask(ctx context.Context, address string, from, to int64) (*answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		cancel()
		return nil, final("%s is not an address", shown(address))
	}
	req.Header.Set("User-Agent", "mlperf-go")
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, to))
	resp, err := s.do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	a := &answer{body: bufio.NewReaderSize(resp.Body, 64<<10)}
	a.close = func() { cancel(); resp.Body.Close() }
	a.remote = remote{url: shown(address), asked: address, size: -1, etag: resp.Header.Get("ETag"), modified: resp.Header.Get("Last-Modified")}
	timer := time.AfterFunc(s.stall, a.close)
	err = a.read(resp, from, to)
	if !timer.Stop() {
		err = fmt.Errorf("%s: nothing came for %v", a.url, s.stall)
	}
	if err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// read understands the headers and the first bytes.
func (a *answer) read(resp *http.Response, from, to int64) error {
	if err := a.readStatus(resp, from, to); err != nil {
		return err
	}
	if encoding := resp.Header.Get("Content-Encoding"); !a.plain(encoding) {
		return final("%s answers with contents encoded as %s, which was not asked for", a.url, encoding)
	}
	if a.from > 0 {
		return nil
	}
	return a.checkHead(resp)
}

// plain reports whether contents that are said to be encoded are the file's own. Some servers say
// that of a file whose name ends in .gz, which is served as it is.
func (a *answer) plain(encoding string) bool {
	switch strings.ToLower(encoding) {
	case "", "identity":
		return true
	case "gzip", "x-gzip":
		ext := extOf(a.url)
		return ext == ".gz" || ext == ".tgz"
	}
	return false
}

// extOf is how the path of an address ends.
func extOf(address string) string {
	name, _, _ := strings.Cut(address, "?")
	return strings.ToLower(path.Ext(path.Base(name)))
}

// checkHead looks at the first bytes of a file.
func (a *answer) checkHead(resp *http.Response) error {
	head, err := a.body.Peek(512)
	if err != nil && len(head) == 0 && a.size != 0 {
		return fmt.Errorf("%s: %w", a.url, unexpectedEOF(err))
	}
	if what := impostor(head, resp.Header.Get("Content-Type"), a.url); what != "" {
		return backoff.Permanent(&notAFileError{URL: a.url, Final: shown(resp.Request.URL.String()), What: what})
	}
	return nil
}

// readStatus understands which part of which whole comes, if any does.
func (a *answer) readStatus(resp *http.Response, from, to int64) error {
	switch resp.StatusCode {
	case http.StatusPartialContent:
		return a.readRange(resp, from, to)
	case http.StatusOK:
		a.size, a.from, a.to = resp.ContentLength, 0, max(resp.ContentLength-1, -1)
		return nil
	case http.StatusRequestedRangeNotSatisfiable:
		return backoff.Permanent(&shorterError{a.url, from})
	}
	return newStatusError(resp)
}

// readRange understands Content-Range, and wants what was asked for.
func (a *answer) readRange(resp *http.Response, from, to int64) error {
	text := resp.Header.Get("Content-Range")
	n, ok := parseRange(text)
	if !ok {
		return final("%s answers with the range %q, which is not understood", a.url, text)
	}
	a.from, a.to, a.size, a.ranges = n[0], n[1], n[2], true
	if a.from != from || a.to != min(to, a.size-1) || a.to < a.from {
		return final("%s answers with the range %q, asked for were the bytes %d to %d", a.url, text, from, to)
	}
	if n := resp.ContentLength; n >= 0 && n != a.to-a.from+1 {
		return final("%s announces %d bytes for the range %q", a.url, n, text)
	}
	return nil
}

// parseRange reads the first and the last byte of a range, and how many the whole has.
func parseRange(text string) (n [3]int64, ok bool) {
	m := contentRange.FindStringSubmatch(text)
	if m == nil {
		return n, false
	}
	for i, digits := range m[1:] {
		v, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return n, false
		}
		n[i] = v
	}
	return n, true
}

var contentRange = regexp.MustCompile(`^bytes (\d+)-(\d+)/(\d+)$`)

var htmlTitle = regexp.MustCompile(`(?is)<title[^>]*>\s*(.*?)\s*</title>`)

// describePage names an HTML page by its title.
func describePage(head []byte) string {
	if m := htmlTitle.FindSubmatch(head); m != nil {
		return fmt.Sprintf("an HTML page (%q)", html.UnescapeString(string(m[1])))
	}
	return "an HTML page"
}

// impostor says what the beginning of a file is, if it is surely not what was asked for.
func impostor(head []byte, contentType, address string) string {
	switch extOf(address) {
	case ".html", ".htm", ".xml":
		return ""
	}
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	sniffed := http.DetectContentType(head)
	switch {
	case strings.HasPrefix(sniffed, "text/html"),
		strings.HasPrefix(contentType, "text/html") && bytes.HasPrefix(trimmed, []byte("<")):
		return describePage(head)
	case bytes.HasPrefix(trimmed, []byte("<?xml")) && bytes.Contains(head, []byte("<Error>")):
		return "an XML error message"
	case bytes.HasPrefix(head, []byte("version https://git-lfs.github.com/spec/")):
		return "a Git LFS pointer"
	}
	return ""
}

func unexpectedEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
