package jinja

// An object is what a template is given by its statements and functions, as loop: it has attributes, which cannot be set, and
// may be called.
type object struct {
	kind      string
	attribute func(name string) (any, bool)
	call      function // nil: it cannot be called
}

// callable is what a call of a value does, if it can be called.
func callable(value any) (function, bool) {
	switch v := value.(type) {
	case function:
		return v, true
	case *object:
		return v.call, v.call != nil
	}
	return nil, false
}

// newJoiner is joiner: its calls are nothing the first time, and then a text that is between others.
func newJoiner(_ *scope, a given) (any, error) {
	v, err := a.bind("sep")
	if err != nil {
		return nil, err
	}
	used, sep := false, orElse(v[0], ", ")
	attribute := func(name string) (any, bool) {
		v, ok := map[string]any{"sep": sep, "used": used}[name]
		return v, ok
	}
	return &object{kind: "Joiner", attribute: attribute, call: func(_ *scope, a given) (any, error) {
		_, err := a.bind()
		if !used {
			used = true
			return "", err
		}
		return sep, err
	}}, nil
}

// A cycler is cycler: values that take turns whenever the next one is asked for.
type cycler struct {
	values []any
	at     int
}

func newCycler(_ *scope, a given) (any, error) {
	if len(a.values) == 0 || len(a.named) > 0 {
		return nil, errNothingGiven
	}
	c := &cycler{values: a.values}
	return &object{kind: "Cycler", attribute: c.attribute}, nil
}

func (c *cycler) attribute(name string) (any, bool) {
	v, ok := map[string]any{
		"items": tuple(c.values), "pos": int64(c.at), "current": c.values[c.at], "next": function(c.next), "reset": function(c.reset),
	}[name]
	return v, ok
}

func (c *cycler) next(_ *scope, a given) (any, error) {
	_, err := a.bind()
	current := c.values[c.at]
	c.at = (c.at + 1) % len(c.values)
	return current, err
}

func (c *cycler) reset(_ *scope, a given) (any, error) {
	_, err := a.bind()
	c.at = 0
	return nil, err
}
