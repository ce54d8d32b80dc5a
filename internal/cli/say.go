package cli

import (
	"fmt"
	"io"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Say prints a text, as fmt.Fprintf does, that has parts which somebody else wrote: none of it
// steers a terminal.
func Say(w io.Writer, format string, args ...any) error {
	_, err := io.WriteString(w, userinput.PrintableText(fmt.Sprintf(format, args...)))
	return err
}
