package download

import (
	"errors"
	"net"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Options say how and where to download. The zero value of every field but Dir is
// useful.
type Options struct {
	Dir          string   // the item's own folder; made if it is missing
	FromFiles    []string // files, or folders with files, that the user has got already
	Mirror       string   // address under which files lie by their bare names; asked first
	MirrorOnly   bool     // ask nobody but the mirror
	Count        int      // only so many samples; 0: all
	Seed         uint64   // which ones
	Connections  int      // at a time; 0: 4
	Force        bool     // replace files that have other contents
	KeepArchives bool

	Free     func(dir string) (uint64, error) // free space in bytes; nil: not checked
	Observer Observer                         // nil: silence
	pace     pace
}

// Check finds what makes no sense about options for an item, without a look at any server.
// Get does the same first.
func (o Options) Check(it Item) error {
	if o.Dir == "" {
		return userinput.Errorf("dir", "there is no folder to download into")
	}
	if o.Connections < 0 {
		return userinput.Errorf("connections", "%d connections are wanted, want 1 or more", o.Connections)
	}
	return errors.Join(checkCount(it, o.Count), o.checkMirror(), checkFromFiles(o.FromFiles))
}

// checkCount says whether so many samples of an item can be had.
func checkCount(it Item, count int) error {
	switch {
	case count < 0:
		return userinput.Errorf("count", "%d samples are wanted, want 1 or more", count)
	case count > 0 && !layouts()[it.Layout].subsets:
		return userinput.Errorf("count", "%s %s cannot be had in part", it.Kind, it.Name)
	case it.Samples > 0 && count > it.Samples:
		return userinput.Errorf("count", "%d samples of %s are wanted, it has %d", count, it.Name, it.Samples)
	}
	return nil
}

func (o Options) checkMirror() error {
	switch {
	case o.Mirror != "" && checkURL(o.Mirror) != nil:
		return userinput.Errorf("mirror", "%s is not an address of http or https", shown(o.Mirror))
	case strings.ContainsAny(o.Mirror, "?#"):
		return userinput.Errorf("mirror", "%s has a query or a fragment, behind which no file can have its name", shown(o.Mirror))
	case o.Mirror == "" && o.MirrorOnly:
		return userinput.Errorf("mirror_only", "there is no mirror that could be the only source")
	}
	return nil
}

// checkFromFiles wants files and folders. Whatever else there may be, such as a pipe or
// a device, is not opened: that could wait for ever, or never end.
func checkFromFiles(names []string) error {
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return userinput.Wrap("from_file", err)
		}
		if !info.Mode().IsRegular() && !info.IsDir() {
			return userinput.Errorf("from_file", "%s is neither a file nor a folder (%v)", name, info.Mode().Type())
		}
	}
	return nil
}

// Sources are the addresses from which a file of the manifest is fetched, in the order in
// which they are tried. There are none if a person has to get it.
func (o Options) Sources(f File) []string {
	var urls []string
	if !f.Registration && !o.MirrorOnly {
		urls = f.URLs
	}
	if o.Mirror == "" {
		return urls
	}
	return append([]string{joinURL(o.Mirror, path.Base(f.Name))}, urls...)
}

// An Observer hears how a download goes on, from one goroutine at a time.
type Observer interface {
	Phase(name string)    // what is being done from now on
	Bytes(done, of int64) // how far the phase has come; of is 0 if that is not known
	Items(done, of int)   // the same, counted in files
	Note(text string)     // a line to read
}

type silence struct{}

func (silence) Phase(string)       {}
func (silence) Bytes(int64, int64) {}
func (silence) Items(int, int)     {}
func (silence) Note(string)        {}

// progressOf returns what to call for each piece of a file of which much is read.
func progressOf(o Observer, size int64) func(n int) {
	if size < quietSize {
		return nil
	}
	done := int64(0)
	return func(n int) {
		done += int64(n)
		o.Bytes(done, size)
	}
}

// A pace is how patient a download is. Tests are less patient.
type pace struct {
	chunk    int64         // size of a range
	attempts int           // without a byte of progress
	pause    time.Duration // before the second attempt; it doubles
	maxPause time.Duration
	stall    time.Duration // without so many bytes, after which a connection is given up
	least    int64
}

// usualPace is for real servers: half a minute of silence, or of a byte now and then, is a broken connection,
// and six attempts in a row span about a minute, longer than a server takes to restart.
func usualPace() pace {
	return pace{chunk: 8 << 20, attempts: 6, pause: 2 * time.Second, maxPause: 30 * time.Second, stall: 30 * time.Second, least: 4 << 10}
}

func (o Options) withDefaults() Options {
	if o.Connections <= 0 {
		o.Connections = 4
	}
	if o.Observer == nil {
		o.Observer = silence{}
	}
	if o.pace == (pace{}) {
		o.pace = usualPace()
	}
	return o
}

// newClient has time limits for everything but the body, which a stalled transfer's own
// limit covers, and as many idle connections as are used.
func newClient(connections int) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	t.ResponseHeaderTimeout = time.Minute
	t.MaxIdleConnsPerHost = 2 * connections
	t.DisableCompression = true // a length and a range are those of the file
	return &http.Client{Transport: t, CheckRedirect: checkRedirect}
}
