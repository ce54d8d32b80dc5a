package progress

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// shown runs f with a display on a terminal and returns what is written to it.
func shown(t *testing.T, f func(p *Display, out *paper)) string {
	t.Helper()
	var out paper
	synctest.Test(t, func(t *testing.T) {
		p := New(&out, None)
		p.mu.Lock()
		p.view = &screen{terminal: &terminal{out: &out, width: func() int { return 80 }}}
		p.mu.Unlock()
		f(p, &out)
		p.Done()
	})
	return out.String()
}

// paper is what is written by several goroutines, and read meanwhile.
type paper struct {
	mu   sync.Mutex
	text []byte
}

func (p *paper) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = append(p.text, text...)
	return len(text), nil
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.text)
}

func (p *paper) Len() int { return len(p.String()) }

// pass lets time pass, and whoever shows something then come to an end with it.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestATerminalHasABarOfWhatIsCounted(t *testing.T) {
	text := shown(t, func(p *Display, out *paper) {
		p.Phase("data")
		if out.Len() > 0 {
			t.Errorf("a phase that has counted nothing shows %q", out)
		}
		p.Items(3, 10)
		pass(time.Second)
		p.Items(5, 10)
	})
	for _, want := range []string{"data: 3 of 10", "30%", "data: 5 of 10", "50%"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown: %q", want, text)
		}
	}
	if lines := strings.Split(text, "\r"); strings.TrimSpace(lines[len(lines)-1]) != "" || strings.Contains(text, "\n") {
		t.Errorf("the bar stays: %q", text)
	}
}

func TestATerminalShowsThatASilentPhaseGoesOn(t *testing.T) {
	text := shown(t, func(p *Display, out *paper) {
		p.Phase("model")
		pass(silence - 500*ms)
		if out.Len() > 0 {
			t.Errorf("after less than %v: %q", silence, out)
		}
		pass(2 * time.Second)
		if !strings.Contains(out.String(), "model: 3s so far") {
			t.Errorf("after more than %v: %q", silence, out)
		}
		p.Items(1, 10)
		before := out.Len()
		pass(10 * time.Second)
		if added := out.String()[before:]; strings.Contains(added, "so far") {
			t.Errorf("a bar that counts gives way to %q", added)
		}
	})
	if !strings.Contains(text, "model: 1 of 10") {
		t.Errorf("what is counted is not shown: %q", text)
	}
}

func TestANoteStandsAboveTheBar(t *testing.T) {
	text := shown(t, func(p *Display, _ *paper) {
		p.Phase("data")
		p.Items(3, 10)
		p.Note("something to know")
	})
	lines := strings.Split(text, "\n")
	if len(lines) != 2 || !strings.HasSuffix(lines[0], "\rsomething to know") && !strings.HasSuffix(lines[0], "something to know") {
		t.Errorf("got %q", text)
	}
	bar := lines[0][strings.LastIndex(lines[0], "\r")+1:]
	if strings.Contains(bar, "3 of 10") {
		t.Errorf("the bar is not removed before the note: %q", text)
	}
}

func TestABlockTakesThePlaceOfABar(t *testing.T) {
	text := shown(t, func(p *Display, out *paper) {
		p.Phase("traffic")
		p.Items(3, 10)
		p.Traffic(late().Progress)
		before := out.Len()
		p.Traffic(late().Progress) // within a second
		if out.Len() != before {
			t.Errorf("it is written again at once: %q", out.String()[before:])
		}
		pass(5 * time.Second) // a block does not say how long a phase is silent
		if out.Len() != before {
			t.Errorf("silence is shown as %q", out.String()[before:])
		}
	})
	if !strings.HasSuffix(text, "traffic: "+late().line()+"\n") {
		t.Errorf("the last state does not stay: %q", text)
	}
}

func TestATestIsNamedBeforeItsPhase(t *testing.T) {
	for test, want := range map[string]string{"": "traffic", "resnet50 Server": "resnet50 Server: traffic"} {
		if got := (&screen{test: test, name: "traffic"}).title(); got != want {
			t.Errorf("test %q: %q, want %q", test, got, want)
		}
	}
}

func TestABarIsWrittenSomeTimesASecond(t *testing.T) {
	text := shown(t, func(p *Display, out *paper) {
		p.Phase("data")
		for i := range 100 {
			p.Items(i, 200)
			pass(10 * ms)
		}
		before := out.Len()
		p.Items(100, 200)
		p.Items(200, 200) // its end is not waited for
		if !strings.Contains(out.String()[before:], "200 of 200") {
			t.Errorf("its end is not shown: %q", out.String()[before:])
		}
	})
	if n := strings.Count(text, "\rdata: "); n < 10 || n > 24 {
		t.Errorf("of 102 counts in a second %d are written, want about ten, each with its text and its number", n)
	}
}
