package download

import (
	"net/http"
	"time"
)

// Options say how and where to download. The zero value of every field but Dir is
// useful.
type Options struct {
	Dir          string   // the item's own folder; made if it is missing
	FromFiles    []string // files, or folders with files, that the user has got already
	Mirror       string   // address under which files lie by their bare names; asked first
	Count        int      // only so many samples; 0: all
	Seed         uint64   // which ones
	Connections  int      // at a time; 0: 4
	Force        bool     // replace files that have other contents
	KeepArchives bool

	Client   *http.Client                     // nil: one made for this
	Free     func(dir string) (uint64, error) // free space in bytes; nil: not checked
	Observer Observer                         // nil: silence
	pace     pace
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
	stall    time.Duration // without a byte, after which a connection is given up
}

// usualPace is for real servers: half a minute of silence is a broken connection, and
// six attempts in a row span about a minute, longer than a server takes to restart.
func usualPace() pace {
	return pace{chunk: 8 << 20, attempts: 6, pause: 2 * time.Second, maxPause: 30 * time.Second, stall: 30 * time.Second}
}

func (o Options) withDefaults() Options {
	if o.Connections <= 0 {
		o.Connections = 4
	}
	if o.Client == nil {
		o.Client = newClient(o.Connections)
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
	t.ResponseHeaderTimeout = time.Minute
	t.MaxIdleConnsPerHost = 2 * connections
	t.DisableCompression = true // a length and a range are those of the file
	return &http.Client{Transport: t}
}
