package mlperflog

import (
	"errors"
	"fmt"
)

// A SyntaxError is a line of a log that cannot be understood.
type SyntaxError struct {
	File    string
	Line    int
	Problem string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Problem) }

// maxErrors is how many errors of a file are reported one by one.
const maxErrors = 20

// A problems collects what is wrong with a file.
type problems struct {
	file string
	list []error
	more int
}

func (p *problems) add(line int, format string, args ...any) {
	if len(p.list) == maxErrors {
		p.more++
		return
	}
	p.list = append(p.list, &SyntaxError{p.file, line, fmt.Sprintf(format, args...)})
}

func (p *problems) join() error {
	if p.more > 0 {
		p.list = append(p.list, fmt.Errorf("%s: %d more lines are wrong", p.file, p.more))
	}
	return errors.Join(p.list...)
}

// shorten cuts a line for a message.
func shorten(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
