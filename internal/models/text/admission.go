package text

import (
	"context"
	"errors"
	"time"

	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// admit has sentences begin if there is room: beside others at least for a quarter of all, since the encoder takes
// hardly longer for two sentences than for one, in which all others wait.
func (t *translator) admit(ctx context.Context, source workload.Source) (open bool, err error) {
	before, quarter := len(t.live), (len(t.live)+len(t.spare)+3)/4
	for open = true; open; {
		room := t.room()
		if room == 0 || before > 0 && len(t.live) == before && room < quarter {
			break
		}
		t.items, open = source.Admit(t.items[:0], min(room, quarter), len(t.live) == 0)
		if len(t.items) == 0 {
			break
		}
		if t.store == nil {
			return open, errors.New("no samples are loaded")
		}
		t.begin(source)
	}
	if len(t.live) == before {
		return open, nil
	}
	return open, t.encode(ctx, t.live[before:])
}

// room is how many sentences may begin: as many as there is memory for, and without making one late that is
// under way, as far as is known how many steps it makes and how long these take.
func (t *translator) room() int {
	room := len(t.spare)
	for _, s := range t.live {
		if s.item.Due.IsZero() {
			continue
		}
		left, steps := time.Until(s.item.Due), t.pace.left(s.steps, len(s.pieces))
		keeps := func(live int) bool {
			return time.Duration(interrupted*float64(t.pace.takes(steps, live))) <= left
		}
		for room > 0 && !keeps(len(t.live)+room) && keeps(len(t.live)) {
			room--
		}
	}
	return room
}

// interrupted is how much longer steps take altogether because of the encoder's runs between them.
const interrupted = 1.15

// begin has the sentences that were admitted begin.
func (t *translator) begin(reply workload.Reply) {
	for _, item := range t.items {
		pieces := t.sentence(item)
		if len(pieces) == 0 {
			reply.Done(item.Ticket, []byte{}, 0) // as the reference, which takes twice no steps
			continue
		}
		s := t.spare[len(t.spare)-1]
		t.spare = t.spare[:len(t.spare)-1]
		s.item, s.steps, s.pieces = item, 0, pieces
		s.search.Start(stepsPerPiece * len(pieces))
		t.live = append(t.live, s)
	}
}
