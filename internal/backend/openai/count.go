package openai

// check finds answers that cannot count, and counts the tokens of others.
func (c *call) check() *failure {
	switch {
	case len(c.text) == 0 && c.usage <= 0 && len(c.ids) == 0:
		return failf(kindEmpty, "the server ended the answer (%q) without a text, and says of no tokens", c.finish)
	case c.usage > 0 && c.pieces > c.usage:
		return failf(kindPieces, "the answer came in %d pieces, and has %d tokens as the server says: something was sent twice", c.pieces, c.usage)
	}
	if f := c.checkTokens(c.usage); f != nil {
		return f
	}
	return c.count()
}

// checkTokens refuses an answer that is said to have more tokens than were asked for: they would count.
func (c *call) checkTokens(n int) *failure {
	if most := c.prompt.MaxTokens; most > 0 && n > most {
		return failf(kindTooLong, "the answer has %d tokens as the server says, asked were at most %d", n, most)
	}
	if n > maxAnswer {
		return failf(kindTooLong, "the answer has more than %d tokens", maxAnswer)
	}
	return nil
}

// count counts the tokens of an answer. One that is kept as token ids has as many as these are.
func (c *call) count() *failure {
	c.cut = false
	if len(c.ids) == 0 && len(c.text) > 0 {
		if f := c.cutText(); f != nil {
			return f
		}
	}
	c.tokens, c.counted = c.counts(c.session.texts.Logged)
	return nil
}

// cutText makes token ids of an answer that came without, where they are wanted.
func (c *call) cutText() *failure {
	texts := &c.session.texts
	switch wanted := texts.Logged || c.usage <= 0; {
	case wanted && texts.Tokenize != nil:
		c.cut = true
		var err error
		if c.ids, err = texts.Tokenize(c.text); err != nil {
			return &failure{kind: kindMalformed, err: err}
		}
	case texts.Logged:
		return failf(kindNoIDs, "the server tells no token ids of its answer, and there is no tokenizer to make them of the text")
	}
	return nil
}

// counts are the tokens of an answer, and who counted them.
func (c *call) counts(logged bool) (tokens int, counted string) {
	switch {
	case c.cut:
		return len(c.ids), countedLocally
	case c.usage > 0 && (!logged || len(c.ids) == 0):
		return c.usage, countedByServer
	case len(c.ids) > 0:
		return len(c.ids), countedIDs
	}
	return max(1, c.pieces), countedPieces
}
