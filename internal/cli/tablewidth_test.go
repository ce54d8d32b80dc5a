package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
)

func TestATableIsAsWideAsItsRoomAllows(t *testing.T) {
	for _, c := range []struct {
		name   string
		widths []int
		room   int
		want   []int
	}{
		{"it fits", []int{10, 20, 30}, 66, []int{10, 20, 30}},
		{"by a hair it does not", []int{10, 20, 30}, 65, []int{10, 20, 29}},
		{"the widest give first", []int{10, 60, 100}, 100, []int{10, 42, 42}},
		{"nothing becomes unreadable", []int{10, 60, 100}, 20, []int{10, 12, 12}},
		{"narrow columns stay", []int{5, 8}, 3, []int{5, 8}},
		{"no columns", nil, 80, nil},
	} {
		var got []int
		for i, config := range broken(c.widths, c.room) {
			if config.Number != i+1 {
				t.Errorf("%s: column %d comes %d.", c.name, config.Number, i+1)
			}
			got = append(got, config.WidthMax)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestCellsAreBrokenBetweenWords: every word of a table is still there, and no line is wider than the room.
func TestCellsAreBrokenBetweenWords(t *testing.T) {
	header, rows := Row{"suite", "what it is"}, []Row{{"edge", "what the newest round asks of edge systems"}, {"mobile", "größere Bilder, 224×224\nand more"}}
	table, widths := NewTable(header), widest(nil, header)
	for _, row := range rows {
		table.AppendRow(row)
		widths = widest(widths, row)
	}
	if want := []int{6, 42}; !slices.Equal(widths, want) {
		t.Errorf("widths %v, want %v", widths, want)
	}
	const room = 30
	table.SetColumnConfigs(broken(widths, room))
	got := table.Render()
	for line := range strings.Lines(got) {
		if n := text.LongestLineLen(line); n > room {
			t.Errorf("a line has %d columns, want at most %d: %s", n, room, line)
		}
	}
	for _, word := range strings.Fields("edge what the newest round asks of systems mobile größere Bilder, 224×224 and more") {
		if !slices.Contains(strings.Fields(got), word) {
			t.Errorf("no %q in\n%s", word, got)
		}
	}
}

func TestATableForAProgramIsNotBroken(t *testing.T) {
	var b strings.Builder
	long := strings.Repeat("word ", 100)
	if err := PrintTable(&b, Row{"text"}, []string{long}, func(s string) Row { return Row{s} }); err != nil || !strings.Contains(b.String(), long) {
		t.Errorf("%v: %s", err, b.String())
	}
}
