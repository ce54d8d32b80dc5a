package download

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
)

// A RegistrationError says that a person has to get files first.
type RegistrationError struct {
	Item  Item
	Files []string // that are wanted; none: a folder is
}

// Error implements error.
func (e *RegistrationError) Error() string {
	what := "a folder"
	if len(e.Files) > 0 {
		what = strings.Join(e.Files, ", ")
	}
	return fmt.Sprintf("registration is needed: get %s by hand", what)
}

// An InTheWayError is something in an item's folder that is not ours to replace.
type InTheWayError struct {
	Path, Why string
}

// Error implements error.
func (e *InTheWayError) Error() string { return fmt.Sprintf("%s is in the way: %s", e.Path, e.Why) }

// A NoRoomError is a disk on which something does not fit.
type NoRoomError struct {
	Dir  string
	Need int64  // bytes beyond what is there
	Free uint64 // bytes
}

// Error implements error.
func (e *NoRoomError) Error() string {
	return fmt.Sprintf("%s needs %s more, %s are free there", e.Dir, human(e.Need), humanize.BytesN(e.Free, 3))
}

// human is a number of bytes as people read it: 816 MB.
func human(n int64) string { return humanize.BytesN(uint64(max(n, 0)), 3) }
