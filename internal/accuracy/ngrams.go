package accuracy

// maxOrder is the longest n-gram that is counted.
const maxOrder = 6

// A gramCounter compares the n-grams of sentences. It numbers words as they come. The
// n-grams of a sentence's references are the nodes of a tree: each is one word longer than
// its parent. Memory is used again for every sentence.
type gramCounter struct {
	words map[string]int32
	ids   []int32

	nodes  nodeTable
	wanted []int32 // how often, by node: in the reference that has most of it
	seen   []int32 // in one sentence
}

// root is the parent of single words.
const root = 0

func newGramCounter() *gramCounter {
	return &gramCounter{words: make(map[string]int32)}
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
	c.nodes.clear()
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
			node, ok := c.nodes.find(key)
			if !ok && !add {
				break
			}
			if !ok {
				node = int32(len(c.wanted))
				c.nodes.add(key, node)
				c.wanted, c.seen = append(c.wanted, 0), append(c.seen, 0)
			}
			visit(node, k+1)
			parent = node
		}
	}
}

// A nodeTable has the node of each parent and word: a hash table that takes less than half the time of Go's
// maps for a few hundred keys that are soon forgotten.
type nodeTable struct {
	slots []nodeSlot // as many as a power of two, at least twice as many as there are nodes
	used  int
	round uint32 // a slot of an earlier one is empty
}

type nodeSlot struct {
	key   uint64
	node  int32
	round uint32
}

// clear forgets all nodes. It comes before everything else.
func (t *nodeTable) clear() {
	t.used = 0
	if t.round++; t.round == 0 { // after four billion sentences
		clear(t.slots)
		t.round = 1
	}
}

func (t *nodeTable) find(key uint64) (node int32, ok bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	s := t.slot(key)
	return s.node, s.round == t.round
}

// add adds a key that is not there yet.
func (t *nodeTable) add(key uint64, node int32) {
	if 2*t.used >= len(t.slots) {
		old := t.slots
		t.slots = make([]nodeSlot, max(64, 2*len(old)))
		for _, s := range old {
			if s.round == t.round {
				*t.slot(s.key) = s
			}
		}
	}
	t.used++
	*t.slot(key) = nodeSlot{key, node, t.round}
}

// slot is where a key is, or would be.
func (t *nodeTable) slot(key uint64) *nodeSlot {
	const spread = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio: Knuth's multiplicative hashing
	mask := uint64(len(t.slots) - 1)
	for i := key * spread >> 32 & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; s.round != t.round || s.key == key {
			return s
		}
	}
}
