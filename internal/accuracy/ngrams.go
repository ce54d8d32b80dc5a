package accuracy

// maxOrder is the longest n-gram that is counted.
const maxOrder = 6

// A gramCounter compares the n-grams of sentences. It numbers words as they come. The
// n-grams of a sentence's references are the nodes of a tree: each is one word longer than
// its parent. Memory is used again for every sentence.
type gramCounter struct {
	words map[string]int32
	ids   []int32

	nodes  map[uint64]int32 // by parent and word
	wanted []int32          // how often, by node: in the reference that has most of it
	seen   []int32          // in one sentence
}

// root is the parent of single words.
const root = 0

func newGramCounter() *gramCounter {
	return &gramCounter{words: make(map[string]int32), nodes: make(map[uint64]int32)}
}

// matches adds to counts and totals how many n-grams a sentence has, and how many of them
// one of the references has. An n-gram matches as often as it is in the reference that has
// most of it.
func (c *gramCounter) matches(said []string, references [][]string, counts, totals []int) {
	c.ids = c.ids[:0]
	numbered := make([][]int32, len(references))
	for i, reference := range references {
		numbered[i] = c.number(reference)
	}
	c.matchIDs(c.number(said), numbered, counts, totals)
}

// matchIDs is matches for words that are numbers already.
func (c *gramCounter) matchIDs(said []int32, references [][]int32, counts, totals []int) {
	clear(c.nodes)
	c.wanted, c.seen = append(c.wanted[:0], 0), append(c.seen[:0], 0)
	for _, reference := range references {
		c.each(reference, len(counts), true, func(node int32, _ int) { c.seen[node]++ })
		for node, n := range c.seen {
			c.wanted[node] = max(c.wanted[node], n)
		}
		clear(c.seen)
	}
	c.each(said, len(counts), false, func(node int32, order int) {
		if c.seen[node] < c.wanted[node] {
			c.seen[node]++
			counts[order-1]++
		}
	})
	for k := range totals {
		totals[k] += max(0, len(said)-k)
	}
}

// number returns the numbers of a sentence's words.
func (c *gramCounter) number(words []string) []int32 {
	start := len(c.ids)
	for _, word := range words {
		id, ok := c.words[word]
		if !ok {
			id = int32(len(c.words))
			c.words[word] = id
		}
		c.ids = append(c.ids, id)
	}
	return c.ids[start:]
}

// each calls visit for every n-gram of a sentence up to an order, with its node. It adds
// those that are not in the tree, or else leaves them out.
func (c *gramCounter) each(ids []int32, order int, add bool, visit func(node int32, order int)) {
	for i := range ids {
		parent := int32(root)
		for k, id := range ids[i:min(i+order, len(ids))] {
			key := uint64(parent)<<32 | uint64(uint32(id))
			node, ok := c.nodes[key]
			if !ok && !add {
				break
			}
			if !ok {
				node = int32(len(c.wanted))
				c.nodes[key] = node
				c.wanted, c.seen = append(c.wanted, 0), append(c.seen, 0)
			}
			visit(node, k+1)
			parent = node
		}
	}
}
