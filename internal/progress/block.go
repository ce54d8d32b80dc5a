package progress

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// A block is what a terminal shows of a running test.
type block struct {
	title   string // the phase
	glance  glance
	history history
	paint   painter
}

// A history is what the last glances were, for the lines that show how it went.
type history struct {
	rate, queue, latency []float64
	mostQueue            uint64
}

// kept is how many glances a history has, and how wide its lines are.
const kept = 30

func (h *history) add(g glance, before glance) {
	push := func(list []float64, v float64) []float64 {
		list = append(list, v)
		return list[max(0, len(list)-kept):]
	}
	rate := 0.0
	if d := g.Elapsed - before.Elapsed; d > 0 && g.Completed >= before.Completed {
		rate = float64(g.Completed-before.Completed) / d.Seconds()
	}
	h.rate = push(h.rate, rate)
	h.queue = push(h.queue, float64(g.queue()))
	h.latency = push(h.latency, float64(g.RecentTarget))
	h.mostQueue = max(h.mostQueue, g.queue())
}

// The least widths of the layouts.
const (
	narrowest = 40
	middle    = 76
	wide      = 112
)

// lines are those of the block, none wider than the terminal: one that wraps would be two, and what is written next in the
// wrong place.
func (b block) lines(terminal int) []string {
	width := max(terminal, narrowest)
	list := []string{b.head(width), b.rates(width)}
	for _, line := range []string{b.latencies(width), b.outlook(width)} {
		if line != "" {
			list = append(list, line)
		}
	}
	if width < middle {
		list = append(list[:1], append([]string{bar(b.glance.share(), width-7) + fmt.Sprintf(" %3.0f %%", 100*b.glance.share())}, list[1:]...)...)
	}
	for i, line := range list {
		list[i] = b.paint.cut(line, max(terminal, 1))
	}
	return list
}

// head says which test it is, and how long it still takes.
func (b block) head(width int) string {
	g := b.glance
	times := clock(g.Elapsed) + " of " + clock(g.Elapsed+g.left())
	if width < middle {
		return sides(b.title, times, width)
	}
	share := g.share()
	return sides(b.title, fmt.Sprintf("%s, %s left  %s %3.0f %%", times, clock(g.left()), bar(share, width/5), 100*share), width)
}

func (b block) rates(width int) string {
	g := b.glance
	text := fmt.Sprintf("%.4g/s", g.rate())
	if target := g.target(); target > 0 {
		text += fmt.Sprintf(" of %.4g", target)
	}
	if g.Accuracy {
		text = fmt.Sprintf("%d of %d, set %d of %d, %s", g.Completed, g.Samples, g.Set, g.Sets, text)
	}
	if width >= middle {
		text = "rate     " + text
	}
	if width >= wide {
		text += "  " + sparkline(b.history.rate)
	}
	return strings.TrimRight(text+"   "+b.queue(width), " ")
}

// queue says how many samples wait, if any ever did and there is room.
func (b block) queue(width int) string {
	if b.history.mostQueue == 0 || width < middle && b.glance.Accuracy {
		return ""
	}
	text := fmt.Sprintf("queue %d (most %d)", b.glance.queue(), b.history.mostQueue)
	if width >= wide {
		text += " " + sparkline(b.history.queue)
	}
	return text
}

func (b block) latencies(width int) string {
	g := b.glance
	if g.RecentP99 == 0 {
		return ""
	}
	if width < middle {
		return b.fewLatencies()
	}
	bound, percentile := g.bound()
	text := fmt.Sprintf("latency  p50 %v", short(g.RecentP50))
	if name := percentileName(percentile); bound == 0 {
		text += fmt.Sprintf("  p90 %v  p99 %v", short(g.RecentP90), short(g.RecentP99))
	} else {
		if name != "p90" && name != "p50" {
			text += fmt.Sprintf("  p90 %v", short(g.RecentP90))
		}
		text += fmt.Sprintf("  %s %s of %v   within %.1f %%, want %.4g %%", name, b.paint.against(g.RecentTarget, bound), bound, 100*g.RecentWithin, 100*percentile)
	}
	if width >= wide {
		text += "  " + sparkline(b.history.latency)
	}
	return text
}

// fewLatencies are two: the median, and the one that decides.
func (b block) fewLatencies() string {
	g := b.glance
	bound, percentile := g.bound()
	if bound == 0 {
		return fmt.Sprintf("p50 %v  p99 %v", short(g.RecentP50), short(g.RecentP99))
	}
	return fmt.Sprintf("p50 %v  %s %s of %v", short(g.RecentP50), percentileName(percentile), b.paint.against(g.RecentTarget, bound), bound)
}

// outlook says what the verdict will be, and what early stopping still wants.
func (b block) outlook(width int) string {
	verdict, because := b.glance.outlook()
	var parts []string
	switch verdict {
	case outlookInvalid:
		parts = append(parts, b.paint.red("▲ INVALID")+goingOn(width)+": "+because)
	case outlookValid:
		parts = append(parts, b.paint.green("✓ VALID")+goingOn(width))
	}
	if text := b.stopping(width); text != "" {
		parts = append(parts, text)
	}
	if len(parts) == 0 || width < middle {
		return strings.Join(parts, "; ")
	}
	return "outlook  " + strings.Join(parts, "; ")
}

func goingOn(width int) string {
	if width < middle {
		return ""
	}
	return " if it goes on so"
}

// stopping says what early stopping wants.
func (b block) stopping(width int) string {
	need, issued := b.glance.needed(), b.glance.Issued
	switch {
	case need == 0 || need <= issued && width < middle:
		return ""
	case need <= issued:
		return fmt.Sprintf("early stopping needs %d queries: ✓", need)
	case width < middle:
		return fmt.Sprintf("%d of %d queries", issued, need)
	}
	return fmt.Sprintf("early stopping needs %d queries: %d so far", need, issued)
}

// sides puts one text at the left and one at the right.
func sides(left, right string, width int) string {
	room := width - utf8.RuneCountInString(right) - 1
	if runes := []rune(left); len(runes) > room {
		left = string(runes[:max(room-1, 0)]) + "…"
	}
	return left + strings.Repeat(" ", max(1, width-utf8.RuneCountInString(left)-utf8.RuneCountInString(right))) + right
}

// clock is a time as 1:12 or 1:02:03.
func clock(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// bar is a bar of a width, in eighths of a character.
func bar(share float64, width int) string {
	inner := max(width-2, 1)
	if !(share > 0) { // nor a number that is none
		share = 0
	}
	eighths := int(math.Round(min(share, 1) * float64(inner*8)))
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return "[" + text + strings.Repeat(" ", inner-utf8.RuneCountInString(text)) + "]"
}

// sparkline draws values between 0 and the greatest of them.
func sparkline(values []float64) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	most := 0.0
	for _, v := range values {
		most = max(most, v)
	}
	var b strings.Builder
	for _, v := range values {
		i := 0
		if most > 0 {
			i = int(v / most * float64(len(levels)-1))
		}
		b.WriteRune(levels[min(max(i, 0), len(levels)-1)])
	}
	return b.String()
}
