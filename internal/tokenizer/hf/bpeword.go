package hf

// A bpeWord is a word on its way to its tokens. It is memory to be used again.
type bpeWord struct {
	initial []int32
	symbols []symbol
	queue   []candidate
}

// A symbol is a token with its neighbours, -1 for none. Without a size it has become a part
// of the one before.
type symbol struct {
	id, left, right int32
	gone            bool
}

// A candidate is a pair that can be joined: what it becomes, and where its left part is.
type candidate struct {
	merge
	at int32
}

func (c candidate) before(o candidate) bool {
	return c.rank < o.rank || c.rank == o.rank && c.at < o.at
}

// join appends the tokens that are left when nothing can be joined any more.
func (w *bpeWord) join(dst []int32, merges map[uint64]merge) []int32 {
	w.begin(merges)
	for len(w.queue) > 0 {
		w.joinPair(w.pop(), merges)
	}
	for _, s := range w.symbols {
		if !s.gone {
			dst = append(dst, s.id)
		}
	}
	return dst
}

// begin lines up the single characters, and puts all pairs that can be joined into the queue.
func (w *bpeWord) begin(merges map[uint64]merge) {
	w.symbols, w.queue = w.symbols[:0], w.queue[:0]
	for i, id := range w.initial {
		w.symbols = append(w.symbols, symbol{id: id, left: int32(i) - 1, right: int32(i) + 1})
	}
	if n := len(w.symbols); n > 0 {
		w.symbols[n-1].right = -1
	}
	for i := range len(w.symbols) - 1 {
		w.offer(int32(i), merges)
	}
}

// joinPair joins a pair, unless one of its parts has become another token since.
func (w *bpeWord) joinPair(c candidate, merges map[uint64]merge) {
	left := &w.symbols[c.at]
	if left.gone || left.right < 0 {
		return
	}
	right := &w.symbols[left.right]
	if m, ok := merges[pair(left.id, right.id)]; !ok || m.id != c.id {
		return
	}
	left.id, left.right, right.gone = c.id, right.right, true
	if left.right >= 0 {
		w.symbols[left.right].left = c.at
		w.offer(c.at, merges)
	}
	if left.left >= 0 {
		w.offer(left.left, merges)
	}
}

// offer puts the pair whose left part is at i into the queue, if it can be joined.
func (w *bpeWord) offer(i int32, merges map[uint64]merge) {
	left := w.symbols[i]
	m, ok := merges[pair(left.id, w.symbols[left.right].id)]
	if !ok {
		return
	}
	w.queue = append(w.queue, candidate{m, i})
	for k := len(w.queue) - 1; k > 0; { // a heap, without the interface of container/heap
		parent := (k - 1) / 2
		if !w.queue[k].before(w.queue[parent]) {
			break
		}
		w.queue[k], w.queue[parent] = w.queue[parent], w.queue[k]
		k = parent
	}
}

// pop takes the first candidate out of the queue.
func (w *bpeWord) pop() candidate {
	first, last := w.queue[0], len(w.queue)-1
	w.queue[0] = w.queue[last]
	w.queue = w.queue[:last]
	for k := 0; ; {
		child := 2*k + 1
		if child >= last {
			return first
		}
		if child+1 < last && w.queue[child+1].before(w.queue[child]) {
			child++
		}
		if !w.queue[child].before(w.queue[k]) {
			return first
		}
		w.queue[k], w.queue[child] = w.queue[child], w.queue[k]
		k = child
	}
}
