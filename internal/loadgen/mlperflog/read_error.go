package mlperflog

import (
	"errors"
	"fmt"
	"strings"
)

// A syntaxError is a line of a log that cannot be understood.
type syntaxError struct {
	File    string
	Line    int
	Problem string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Problem) }

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
	p.list = append(p.list, &syntaxError{p.file, line, cut(fmt.Sprintf(format, args...), mostProblem)})
}

func (p *problems) join() error {
	if p.more > 0 {
		p.list = append(p.list, fmt.Errorf("%s: %d more lines are wrong", p.file, p.more))
	}
	return errors.Join(p.list...)
}

// mostProblem is how many bytes of a message are worth reading: it may quote a foreign file.
const mostProblem = 300

// shorten cuts a line for a message.
func shorten(s string) string { return cut(s, 80) }

func cut(s string, most int) string {
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
