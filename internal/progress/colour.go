package progress

import (
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// wantsColour reports whether what is written to a file may have colours: a person sees it, and
// has not said otherwise (https://no-color.org).
func wantsColour(f *os.File) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// A painter colours text, or leaves it as it is.
type painter struct{ on bool }

const plainColour = "\x1b[0m"

func (p painter) with(code, text string) string {
	if !p.on {
		return text
	}
	return "\x1b[" + code + "m" + text + plainColour
}

func (p painter) red(text string) string   { return p.with("31", text) }
func (p painter) green(text string) string { return p.with("32", text) }
func (p painter) amber(text string) string { return p.with("33", text) }

// Verdict colours a verdict on a file, if a person looks at that: VALID green, INVALID red,
// all others amber.
func Verdict(f *os.File, text string) string { return painter{wantsColour(f)}.verdict(text) }

func (p painter) verdict(text string) string {
	switch text {
	case outlookValid:
		return p.green(text)
	case outlookInvalid:
		return p.red(text)
	}
	return p.amber(text)
}

// against colours a latency by how much of the bound it has: green below 90 %, amber up to it.
func (p painter) against(d, bound time.Duration) string {
	text := short(d).String()
	switch {
	case d > bound:
		return p.red(text)
	case d > bound*9/10:
		return p.amber(text)
	}
	return p.green(text)
}

// cut shortens a line to a width. Colours take no room.
func (p painter) cut(line string, width int) string {
	var b strings.Builder
	for at, used := 0, 0; at < len(line); {
		if strings.HasPrefix(line[at:], "\x1b[") {
			end := strings.IndexByte(line[at:], 'm')
			if end < 0 {
				break
			}
			b.WriteString(line[at : at+end+1])
			at += end + 1
			continue
		}
		if used == width {
			if p.on {
				b.WriteString(plainColour)
			}
			break
		}
		_, size := utf8.DecodeRuneInString(line[at:])
		b.WriteString(line[at : at+size])
		at, used = at+size, used+1
	}
	return b.String()
}
