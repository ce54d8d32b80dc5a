package cli

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Document prints what is for a file or another program, such as CSV: as it is, but on a terminal
// without what would steer it.
func Document(w io.Writer, write func(io.Writer) error) error {
	f, isFile := w.(*os.File)
	return document(w, isFile && term.IsTerminal(int(f.Fd())), write)
}

func document(w io.Writer, terminal bool, write func(io.Writer) error) error {
	if !terminal {
		return write(w)
	}
	var b strings.Builder
	if err := write(&b); err != nil {
		return err
	}
	return Say(w, "%s", b.String())
}
