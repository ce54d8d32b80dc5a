package progress

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/mlperf-go/mlperf/internal/visible"
)

// A terminal is where a person looks.
type terminal struct {
	out   io.Writer
	width func() int
	paint painter
}

// openTerminal returns the terminal that out is; nil: it is none, or one that cannot move its
// cursor.
func openTerminal(out io.Writer) *terminal {
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return &terminal{out: out, paint: painter{on: wantsColour(f)}, width: func() int { return cmp.Or(Width(f), 80) }}
}

// Width is how many columns the terminal has that out is; 0: it is none, or does not say.
func Width(out io.Writer) int {
	f, ok := out.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return max(width, 0)
}

// screen shows a bar, or of a running test a block that is written again and again.
type screen struct {
	*terminal
	test, name          string // test: which one it is, if anybody said
	begun, moved, drawn time.Time

	bar     *progressbar.ProgressBar
	of      int64     // what the bar counts to
	stepped time.Time // when it was last told of a count

	block  *block
	height int // lines of the block that are on the screen
}

// silence is how long a phase may say nothing.
const silence = 2 * time.Second

func (s *screen) phase(name string) {
	now := time.Now()
	s.name, s.begun, s.moved, s.drawn = visible.Line(name), now, now, time.Time{}
}

// often is how often a bar is written at most, but for its end. It does not do that itself, because
// it would leave out the second of a text and its number.
const often = 100 * time.Millisecond

func (s *screen) step(c count) {
	s.moved = c.now
	if s.bar != nil && s.of == c.of && c.done != c.of && c.now.Sub(s.stepped) < often {
		return
	}
	s.stepped = c.now
	s.show(c.of, c.text)
	_ = s.bar.Set64(min(c.done, max(c.of, c.done)))
}

func (s *screen) tick(now time.Time) {
	if now.Sub(s.moved) >= silence && s.block == nil && (s.bar == nil || s.of == countsNothing) {
		s.show(countsNothing, soFar(now.Sub(s.begun)))
	}
}

// show describes the phase beside its bar.
func (s *screen) show(of int64, text string) {
	if s.bar == nil || s.of != of {
		s.end()
		s.of = of
		s.bar = progressbar.NewOptions64(of,
			progressbar.OptionSetWriter(s.out),
			progressbar.OptionSetWidth(20),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionClearOnFinish(),
		)
	}
	s.bar.Describe(s.name + ": " + text)
}

// redraw is how often a block is written at most.
const redraw = time.Second

func (s *screen) traffic(g glance) {
	s.moved = g.now
	if s.block == nil {
		s.end()
		s.block = &block{title: s.title(), paint: s.paint}
	}
	if g.now.Sub(s.drawn) < redraw {
		return
	}
	s.drawn = g.now
	s.block.history.add(g, s.block.glance)
	s.block.glance = g
	s.draw()
}

func (s *screen) title() string {
	if s.test == "" {
		return s.name
	}
	return s.test + ": " + s.name
}

// draw writes the block where the last one was.
func (s *screen) draw() {
	list := s.block.lines(s.width())
	var b strings.Builder
	b.WriteString(up(s.height))
	for _, line := range list {
		b.WriteString("\r" + line + "\x1b[K\n")
	}
	b.WriteString("\x1b[J") // what a higher block before left
	s.height = len(list)
	_, _ = io.WriteString(s.out, b.String())
}

func up(lines int) string {
	if lines == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA", lines)
}

func (s *screen) note(text string) {
	if s.bar != nil {
		_ = s.bar.Clear()
	}
	fmt.Fprintf(s.out, "%s%s\n", s.erased(), visible.Text(text))
	if s.block != nil && !s.drawn.IsZero() {
		s.draw()
	}
}

// erased is what removes the block from the screen.
func (s *screen) erased() string {
	if s.height == 0 {
		return ""
	}
	text := up(s.height) + "\r\x1b[J"
	s.height = 0
	return text
}

// end removes the bar. The last state of a block stays, as a line.
func (s *screen) end() {
	if s.bar != nil {
		_ = s.bar.Finish()
		s.bar = nil
	}
	if s.block != nil && s.height > 0 {
		fmt.Fprintf(s.out, "%s%s: %s\n", s.erased(), s.block.title, s.block.glance.line())
	}
	s.block = nil
}
