package page

import (
	"fmt"
	"io"
	"math"

	"github.com/mlperf-go/mlperf/internal/report/published"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A point is a result on a strip of 1000, and what it says.
type point struct {
	X    int
	Text string
}

type publishedPage struct {
	shell
	S         *published.Standing
	Points    []point
	Run       point
	From, To  string // the ends of the strip
	What      string // on it
	Header    []string
	Rows      [][]string
	Footnotes []string
}

// Published writes a page with a run beside published results: a strip of points on a logarithmic scale, and a table.
func Published(w io.Writer, s *published.Standing, program string) error {
	frame, err := newShell(nil, program)
	if err != nil {
		return err
	}
	p := publishedPage{shell: frame, S: s, What: "result, " + s.Unit, Header: s.Header(), Footnotes: published.Footnotes()}
	least, most := s.Value, s.Value
	for _, r := range s.All {
		least, most = min(least, r.Value), max(most, r.Value)
	}
	at := func(v float64) int {
		if most == least {
			return 500
		}
		return 20 + int(960*math.Log(v/least)/math.Log(most/least))
	}
	p.From, p.To = units.Text(least, s.Unit), units.Text(most, s.Unit)
	p.Run = point{at(s.Value), s.Title()}
	for _, r := range s.All {
		p.Points = append(p.Points,
			point{at(r.Value), fmt.Sprintf("%s, %s: %s, %d × %s (%s, %s)", r.Submitter, r.System, units.Text(r.Value, r.Unit), r.Chips, r.Chip,
				r.Round, r.ID)})
	}
	for _, r := range s.Results {
		p.Rows = append(p.Rows, r.Cells())
	}
	return render(w, "published.html", p)
}
