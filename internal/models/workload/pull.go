package workload

import "context"

// A Puller is a predictor that answers many samples at once and admits another one
// whenever it has room, instead of waiting until a batch is done: decoders of sequences,
// which end one by one.
type Puller interface {
	Predictor
	// Serve answers samples of a source until that is closed. It returns when all that it
	// admitted are answered, or soon after the context has ended. An error means that those
	// without an answer could not be answered; the predictor is not used any more then.
	//
	// Use is called while nothing is admitted: what it says holds from the next admission on.
	Serve(ctx context.Context, source Source) error
}

// A Source has the samples that wait for a Puller. It is used by one goroutine.
type Source interface {
	// Admit appends samples that wait to items: the oldest, at most n and at most as many as
	// there is room for beside those that were admitted and not answered yet. A ticket names
	// a sample until it is answered. If none waits it returns at once; with wait, and if all
	// that were admitted are answered, it waits for one. It returns false once the source is
	// closed: there will be no more.
	Admit(items []Item, n int, wait bool) ([]Item, bool)
	Reply
}
