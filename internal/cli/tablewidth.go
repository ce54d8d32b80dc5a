package cli

import (
	"fmt"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// widest are the widths of columns with one row more.
func widest(widths []int, row Row) []int {
	for i, cell := range row {
		if i == len(widths) {
			widths = append(widths, 0)
		}
		widths[i] = max(widths[i], text.LongestLineLen(fmt.Sprint(cell)))
	}
	return widths
}

const (
	besideCells   = 2  // blanks
	narrowestCell = 12 // below which words are no longer read
)

// broken makes columns narrower, the widest first, until they have room beside each other or are as narrow as they may be.
func broken(widths []int, room int) []table.ColumnConfig {
	widths = slices.Clone(widths)
	for _, width := range widths {
		room -= width + besideCells
	}
	var configs []table.ColumnConfig
	for ; room < 0; room++ {
		i := slices.Index(widths, slices.Max(widths))
		if widths[i] <= narrowestCell {
			break
		}
		widths[i]--
	}
	for i, width := range widths {
		configs = append(configs, table.ColumnConfig{Number: i + 1, WidthMax: width, WidthMaxEnforcer: text.WrapSoft})
	}
	return configs
}
