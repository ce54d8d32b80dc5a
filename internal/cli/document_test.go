package cli

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestADocumentCannotSteerATerminal(t *testing.T) {
	const text = "system,\x1b[2Jx\nb,ö\n"
	for terminal, want := range map[bool]string{false: text, true: "system,\\x1b[2Jx\nb,ö\n"} {
		var b strings.Builder
		err := document(&b, terminal, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		if err != nil || b.String() != want {
			t.Errorf("terminal %v: %q, %v, want %q", terminal, b.String(), err, want)
		}
	}
}

func TestADocumentThatFailsIsAnError(t *testing.T) {
	broken := errors.New("broken")
	for _, terminal := range []bool{false, true} {
		var b strings.Builder
		if err := document(&b, terminal, func(io.Writer) error { return broken }); !errors.Is(err, broken) || b.Len() > 0 {
			t.Errorf("terminal %v: %q, %v, want %v", terminal, b.String(), err, broken)
		}
	}
}
