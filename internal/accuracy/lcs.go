package accuracy

import "slices"

// A commonSubsequence finds longest common subsequences. It is memory to be used again.
type commonSubsequence struct {
	table  []uint32
	marked []bool
}

// length is that of a longest common subsequence.
func (c *commonSubsequence) length(a, b []int32) int {
	if len(a) < len(b) {
		a, b = b, a
	}
	row := c.zeros(len(b) + 1)
	for _, x := range a {
		diagonal := uint32(0)
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return int(row[len(b)])
}

// marks says which words of a line are in the longest common subsequence with any of the
// other lines. Of several as long it is the one that rouge_score finds, from the end: it
// leaves out a word of the line unless leaving out one of the other line costs less.
func (c *commonSubsequence) marks(line []int32, others [][]int32) []bool {
	c.marked = slices.Grow(c.marked[:0], len(line))[:len(line)]
	clear(c.marked)
	for _, other := range others {
		c.markOne(line, other)
	}
	return c.marked
}

// fill returns the lengths for all beginnings of a line and another, a row for each of the line.
func (c *commonSubsequence) fill(line, other []int32) []uint32 {
	width := len(other) + 1
	t := c.zeros((len(line) + 1) * width)
	for i, x := range line {
		row, next := t[i*width:(i+1)*width], t[(i+1)*width:(i+2)*width]
		for j, y := range other {
			if x == y {
				next[j+1] = row[j] + 1
			} else {
				next[j+1] = max(row[j+1], next[j])
			}
		}
	}
	return t
}

func (c *commonSubsequence) markOne(line, other []int32) {
	width, t := len(other)+1, c.fill(line, other)
	for i, j := len(line), len(other); i > 0 && j > 0; {
		switch {
		case line[i-1] == other[j-1]:
			c.marked[i-1] = true
			i, j = i-1, j-1
		case t[i*width+j-1] > t[(i-1)*width+j]:
			j--
		default:
			i--
		}
	}
}

// zeros returns memory of n zeros.
func (c *commonSubsequence) zeros(n int) []uint32 {
	c.table = slices.Grow(c.table[:0], n)[:n]
	clear(c.table)
	return c.table
}
