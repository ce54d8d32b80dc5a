package download

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A retryPolicy says how often a download is tried and how long it waits. Tests wait less.
type retryPolicy struct {
	attempts int           // in a row that bring nothing
	pause    time.Duration // before the second attempt; it doubles
	maxPause time.Duration
	stall    time.Duration // of silence after which a connection is given up
}

// defaultRetries is for real servers: half a minute of silence is a broken connection, and six attempts in a row span about a
// minute, longer than a server takes to restart.
func defaultRetries() retryPolicy {
	return retryPolicy{attempts: 6, pause: 2 * time.Second, maxPause: 30 * time.Second, stall: 30 * time.Second}
}

// newClient has a time limit for connecting only: a stalled transfer ends by its own.
func newClient(connections int) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	t.MaxIdleConnsPerHost = connections
	t.DisableCompression = true // lengths and ranges are those of the file
	return &http.Client{Transport: t}
}

// Sources are the addresses of a file of the manifest, in the order in which they are tried; none if a person has to
// get it.
func (o Options) Sources(f File) []string {
	var urls []string
	if o.Mirror != "" {
		urls = append(urls, joinURL(o.Mirror, path.Base(f.Name)))
	}
	if !f.Registration && !o.MirrorOnly {
		urls = append(urls, f.URLs...)
	}
	return urls
}

// joinURL appends a path to an address, element by element escaped.
func joinURL(base, name string) string {
	elems := strings.Split(name, "/")
	for i, e := range elems {
		elems[i] = url.PathEscape(e)
	}
	return strings.TrimSuffix(base, "/") + "/" + strings.Join(elems, "/")
}

// shown is an address as it may be printed and kept: without a password, and without a query, which may be a signature.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Sprintf("%.20q…", address)
	}
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.Redacted()
}

const (
	partSuffix    = ".part"
	versionSuffix = ".version" // beside a part file: its address and the ETag or date of the file there
)

// discard removes a part file.
func (j *job) discard(part string) error {
	return errors.Join(ignoreMissing(j.root.Remove(part)), ignoreMissing(j.root.Remove(part+versionSuffix)))
}

// fetch brings a file into the part file, from the first address that has it, and checks it. If it fails, what has come stays
// for the next time, unless its checksum is wrong.
func (j *job) fetch(ctx context.Context, f File, part string, show func(done, of int64)) (sums, error) {
	var errs []error
	urls := j.Sources(f)
	for i, u := range urls {
		got, err := j.fetchFrom(ctx, u, f, part, show)
		if err == nil {
			return got, nil
		}
		if ctx.Err() != nil {
			return sums{}, context.Cause(ctx)
		}
		errs = append(errs, err)
		if ofThisMachine(err) { // which no other address cures
			break
		}
		if i+1 < len(urls) {
			j.Observer.Note(fmt.Sprintf("%v; trying %s", err, shown(urls[i+1])))
		}
	}
	return sums{}, errors.Join(errs...)
}

// ofThisMachine reports whether an error is about the disk here.
func ofThisMachine(err error) bool {
	return errors.As(err, new(*NoRoomError)) || errors.As(err, new(*fs.PathError)) || errors.As(err, new(*os.LinkError))
}

// fetchFrom completes the part file from one address. If its checksum is wrong it is removed; if a part of it was there before,
// the file is then fetched as a whole.
func (j *job) fetchFrom(ctx context.Context, address string, f File, part string, show func(done, of int64)) (sums, error) {
	for {
		before, _ := j.root.Stat(part)
		if err := j.transfer(ctx, address, f, part, show); err != nil {
			return sums{}, err
		}
		got, err := sumFile(ctx, j.root, part, show)
		if err != nil {
			return sums{}, err
		}
		wrong := f.check(got, shown(address))
		if wrong == nil {
			return got, nil
		}
		if err := j.discard(part); err != nil || before == nil || before.Size() == 0 {
			return sums{}, errors.Join(wrong, err)
		}
		j.Observer.Note(fmt.Sprintf("%v; fetching all of it again", wrong))
	}
}

// transfer completes the part file, in as many attempts as it takes, each beginning where the last broke off.
func (j *job) transfer(ctx context.Context, address string, f File, part string, show func(done, of int64)) error {
	file, err := j.root.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	err = j.retries.retry(ctx, j.Observer.Note, func() (int64, error) { return j.attempt(ctx, address, f, part, file, show) })
	return errors.Join(err, file.Sync(), file.Close())
}

var errSilent = errors.New("nothing came")

// attempt asks for the rest of a part file and appends it. It returns the number of bytes that came.
func (j *job) attempt(ctx context.Context, address string, f File, part string, file *os.File, show func(done, of int64)) (n int64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(j.retries.stall, func() { cancel(errSilent) })
	defer silent.Stop()
	name := shown(address)
	defer func() {
		if err != nil && errors.Is(context.Cause(ctx), errSilent) {
			err = fmt.Errorf("%s: nothing came for %v", name, j.retries.stall)
		}
	}()

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, backoff.Permanent(fmt.Errorf("%s is not an address", name))
	}
	req.Header.Set("User-Agent", "mlperf-go")
	have, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, backoff.Permanent(err)
	}
	if have > 0 {
		version, _ := j.root.ReadFile(part + versionSuffix)
		from, validator, _ := strings.Cut(string(version), "\n")
		if from == name && validator != "" {
			req.Header.Set("If-Range", validator) // if the server's file has changed, all of it comes
		} else if !f.hasChecksum() {
			have = 0 // nothing tells whether the parts belong together
		}
	}
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	resp, err := j.do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()

	switch resp.StatusCode {
	case http.StatusOK:
		have = 0
	case http.StatusPartialContent:
		if text := resp.Header.Get("Content-Range"); !strings.HasPrefix(text, fmt.Sprintf("bytes %d-", have)) {
			return 0, backoff.Permanent(fmt.Errorf("%s answers with the range %q, expected one from byte %d on", name, text, have))
		}
	case http.StatusRequestedRangeNotSatisfiable:
		if resp.Header.Get("Content-Range") == fmt.Sprintf("bytes */%d", have) {
			return 0, nil // it is complete
		}
		return 0, errors.Join(fmt.Errorf("%s has less than the %d bytes that have come", name, have), file.Truncate(0))
	default:
		return 0, newStatusError(resp)
	}

	of := int64(0) // bytes of the whole; 0: not known
	if resp.ContentLength >= 0 {
		of = have + resp.ContentLength
		if f.Size > 0 && of != f.Size {
			return 0, backoff.Permanent(fmt.Errorf("%s has %d bytes there, expected %d", name, of, f.Size))
		}
	}
	need := of - have
	if f.Unpack != nil {
		need += of // at least as much comes out of an archive
	}
	if free, err := j.free(j.Dir); err != nil {
		return 0, backoff.Permanent(err)
	} else if need > 0 && uint64(need) > free {
		return 0, backoff.Permanent(&NoRoomError{j.Dir, need, free})
	}

	body := bufio.NewReader(resp.Body)
	if have == 0 {
		head, err := body.Peek(512)
		if what := impostor(head, resp.Header.Get("Content-Type"), address); what != "" {
			return 0, backoff.Permanent(&notAFileError{name, shown(resp.Request.URL.String()), what})
		}
		if len(head) == 0 && resp.ContentLength != 0 {
			return 0, fmt.Errorf("%s: the answer is empty: %w", name, err)
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return 0, backoff.Permanent(err)
		}
		version := resp.Header.Get("ETag")
		if version == "" || strings.HasPrefix(version, "W/") { // a weak one does not mean the same bytes
			version = resp.Header.Get("Last-Modified")
		}
		err = errors.Join(file.Truncate(0), j.root.WriteFile(part+versionSuffix, []byte(name+"\n"+version), 0o644))
		if err != nil {
			return 0, backoff.Permanent(err)
		}
	}
	n, err = io.CopyBuffer(file, &reading{Reader: fileio.UntilDone(ctx, body), done: have, of: of, show: func(done, of int64) {
		silent.Reset(j.retries.stall)
		show(done, of)
	}}, make([]byte, 128<<10))
	if errors.As(err, new(*fs.PathError)) {
		return n, backoff.Permanent(err) // of the file here
	}
	if err != nil {
		err = fmt.Errorf("%s broke off after %d bytes: %w", name, have+n, err)
	}
	return n, err
}

// An UnreachableError is a server without a connection: its name is unknown, it refuses, or it does not
// answer.
type UnreachableError struct {
	Host string
	Err  error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("%s cannot be reached (is there a network?): %v", e.Host, e.Err)
}

// Unwrap returns what the network says.
func (e *UnreachableError) Unwrap() error { return e.Err }

// do sends a request. A host that has never answered is given up at once.
func (j *job) do(req *http.Request) (*http.Response, error) {
	resp, err := j.client.Do(req)
	if err == nil {
		j.heard.Store(req.URL.Host, true)
		return resp, nil
	}
	failed := &url.Error{URL: req.URL.String(), Err: err}
	errors.As(err, &failed)
	host := req.URL.Host
	if u, err := url.Parse(failed.URL); err == nil {
		host = u.Host // to which we may have been redirected
	}
	op := &net.OpError{}
	unconnected := errors.As(err, new(*net.DNSError)) || errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect")
	if _, heard := j.heard.Load(host); unconnected && !heard && req.Context().Err() == nil {
		return nil, backoff.Permanent(&UnreachableError{host, failed.Err})
	}
	err = fmt.Errorf("%s: %w", shown(failed.URL), failed.Err)
	if errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(tls.RecordHeaderError)) {
		err = backoff.Permanent(err)
	}
	return nil, err
}

// retry calls f until it succeeds, fails for good, or has failed often enough in a row without bringing anything.
func (p retryPolicy) retry(ctx context.Context, note func(string), f func() (n int64, err error)) error {
	pauses := &backoff.ExponentialBackOff{InitialInterval: p.pause, MaxInterval: p.maxPause, Multiplier: 2, RandomizationFactor: 0.1}
	tries := 0
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		n, err := f()
		if n > 0 {
			tries = 0
			pauses.Reset()
		}
		tries++
		if err != nil && ctx.Err() != nil {
			err = backoff.Permanent(context.Cause(ctx))
		} else if err != nil && tries >= p.attempts && !errors.As(err, new(*backoff.PermanentError)) {
			err = backoff.Permanent(fmt.Errorf("given up after %d attempts: %w", tries, err))
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, _ time.Duration) {
		note(fmt.Sprintf("%v; trying again", err))
	}))
	return err
}

// longestPause is how long a server may ask us to wait.
const longestPause = 2 * time.Minute

// newStatusError is an answer that is not the file. It is permanent if another attempt would not help.
func newStatusError(resp *http.Response) error {
	code := resp.StatusCode
	text := fmt.Sprintf("%s answers %d %s", shown(resp.Request.URL.String()), code, http.StatusText(code))
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden:
		text += ": it wants a login or an agreement"
	case http.StatusNotFound, http.StatusGone:
		text += ": the file was removed"
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		err := errors.New(text)
		if s, _ := strconv.Atoi(resp.Header.Get("Retry-After")); s > 0 {
			err = fmt.Errorf("%w, %w", err, &backoff.RetryAfterError{Duration: min(time.Duration(s)*time.Second, longestPause)})
		}
		return err
	}
	return backoff.Permanent(errors.New(text))
}

// A notAFileError is an answer with something else than the file: an error page, a login form, the pointer of a large file.
type notAFileError struct {
	url, final string // the address, and where it led to
	what       string
}

// Error implements error.
func (e *notAFileError) Error() string {
	text := e.url
	if e.final != e.url {
		text += " leads to " + e.final + ", which"
	}
	text += fmt.Sprintf(" answers with %s instead of the file", e.what)
	if strings.Contains(e.final, ".cloudflareaccess.com/") {
		text += ": it wants a login as a member of MLCommons"
	}
	return text
}

var htmlTitle = regexp.MustCompile(`(?is)<title[^>]*>\s*(.*?)\s*</title>`)

// impostor says what the beginning of an answer is, if it is surely not the file that was asked for.
func impostor(head []byte, contentType, address string) string {
	name, _, _ := strings.Cut(address, "?")
	switch strings.ToLower(path.Ext(name)) {
	case ".html", ".htm", ".xml":
		return ""
	}
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case strings.HasPrefix(http.DetectContentType(head), "text/html"),
		strings.HasPrefix(contentType, "text/html") && bytes.HasPrefix(trimmed, []byte("<")):
		if m := htmlTitle.FindSubmatch(head); m != nil {
			return fmt.Sprintf("an HTML page (%q)", html.UnescapeString(string(m[1])))
		}
		return "an HTML page"
	case bytes.HasPrefix(trimmed, []byte("<?xml")) && bytes.Contains(head, []byte("<Error>")):
		return "an XML error message"
	case bytes.HasPrefix(head, []byte("version https://git-lfs.github.com/spec/")):
		return "a Git LFS pointer"
	}
	return ""
}
