package grading

// A node is a part of an expression: a number, a variable, a constant, or an operation on one or two others.
type node struct {
	token
	a, b *node
}

// Operations with names that are no tokens.
const (
	negative        = "neg"
	floor           = "//"
	factorial       = "!"
	doubleFactorial = "!!"
)

// A reader goes from token to token.
type reader struct {
	rest  []token
	depth int
}

// parse reads an expression. Nil: it is none.
func parse(text string) *node {
	all, ok := tokens(text)
	if !ok {
		return nil
	}
	r := reader{rest: all}
	if n := r.sum(); len(r.rest) == 0 {
		return n
	}
	return nil
}

// eat takes one of some operators if it comes next.
func (r *reader) eat(operators ...string) (string, bool) {
	for _, op := range operators {
		if len(r.rest) > 0 && r.rest[0] == (token{operator, op}) {
			r.rest = r.rest[1:]
			return op, true
		}
	}
	return "", false
}

// both is an operation on two nodes, if there are two.
func both(op string, a, b *node) *node {
	if a == nil || b == nil {
		return nil
	}
	return &node{token{operator, op}, a, b}
}

// one is an operation on a node, if there is one.
func one(op string, a *node) *node {
	if a == nil {
		return nil
	}
	return &node{token: token{operator, op}, a: a}
}

func (r *reader) sum() *node {
	n := r.product()
	for n != nil {
		op, ok := r.eat("+", "-")
		if !ok {
			break
		}
		n = both(op, n, r.product())
	}
	return n
}

func (r *reader) product() *node {
	n := r.signed()
	for n != nil {
		op, ok := r.eat("*", "/", floor)
		if !ok {
			break
		}
		n = both(op, n, r.signed())
	}
	return n
}

// signed takes a power with its signs.
func (r *reader) signed() *node {
	if r.depth++; r.depth > deepest {
		return nil
	}
	defer func() { r.depth-- }()
	switch op, _ := r.eat("-", "+"); op {
	case "-":
		return one(negative, r.signed())
	case "+":
		return r.signed()
	}
	base := r.postfix()
	if _, ok := r.eat("**"); ok {
		return both("**", base, r.signed())
	}
	return base
}

// postfix takes what stands alone, and the factorial behind it.
func (r *reader) postfix() *node {
	n := r.alone()
	if op, ok := r.eat(factorial, doubleFactorial); ok {
		return one(op, n)
	}
	return n
}

// alone takes a number, a variable, a function of something, or what is between parentheses.
func (r *reader) alone() *node {
	if len(r.rest) == 0 {
		return nil
	}
	t := r.rest[0]
	switch {
	case takes(t):
		r.rest = r.rest[1:]
		return one(t.text, r.group())
	case t.kind != operator:
		r.rest = r.rest[1:]
		return &node{token: t}
	}
	return r.group()
}

// group takes what is between parentheses.
func (r *reader) group() *node {
	if _, ok := r.eat("("); !ok {
		return nil
	}
	n := r.sum()
	if _, ok := r.eat(")"); !ok {
		return nil
	}
	return n
}
