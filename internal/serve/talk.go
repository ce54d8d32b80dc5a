package serve

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/oip/server"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// A Talk offers models that continue texts in OpenAI's protocol: completions and chat, whole or as
// a stream of events.
type Talk struct {
	models []*talker
	ids    atomic.Uint64
}

// A talker is one of these models.
type talker struct {
	*sequences
	workload.Talker
}

const (
	maxPrompt    = 4 << 20 // bytes of a request
	promptTime   = 10 * time.Second
	answerTime   = 30 * time.Second // until a client takes what it was sent
	undecided    = "\ufffd"         // ends a text whose last letter is not whole
	finishLength = "length"
	finishStop   = "stop"
)

// NewTalk offers those of the models that continue texts; nil: there is none.
func NewTalk(offers []*Offer) *Talk {
	t := &Talk{}
	for _, o := range offers {
		if o.writer == nil {
			continue
		}
		if w, ok := o.writer.writer.(workload.Talker); ok {
			t.models = append(t.models, &talker{o.writer, w})
		}
	}
	if t.models == nil {
		return nil
	}
	return t
}

// Routes are the paths of the protocol.
func (t *Talk) Routes() []server.Route {
	return []server.Route{
		{Pattern: "GET /v1/models", Handle: t.list},
		{Pattern: "POST /v1/completions", Handle: func(w http.ResponseWriter, r *http.Request) error { return t.complete(w, r, false) }},
		{Pattern: "POST /v1/chat/completions", Handle: func(w http.ResponseWriter, r *http.Request) error { return t.complete(w, r, true) }},
	}
}

func (t *Talk) list(w http.ResponseWriter, _ *http.Request) error {
	data := []map[string]any{}
	for _, m := range t.models {
		data = append(data, map[string]any{"id": m.name, "object": "model", "owned_by": "mlperf"})
	}
	return respond(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

// respond writes a document.
func respond(w http.ResponseWriter, status int, document any) error {
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // whom it does not reach does not want it
	return nil
}

// refuse answers with an error as clients of the protocol know it.
func refuse(w http.ResponseWriter, err error) error {
	status := oip.CodeOf(err).HTTP()
	return respond(w, status, map[string]any{"error": map[string]any{"message": err.Error(), "code": status}})
}

func invalid(err error) error { return &oip.Error{Code: oip.InvalidArgument, Err: err} }

// complete answers a prompt.
func (t *Talk) complete(w http.ResponseWriter, r *http.Request, chat bool) error {
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(promptTime)); err != nil {
		return err
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPrompt))
	if err != nil {
		return refuse(w, invalid(err))
	}
	p, err := readPrompt(text, chat)
	if err != nil {
		return refuse(w, invalid(err))
	}
	m, err := t.find(p.Model)
	if err != nil {
		return refuse(w, err)
	}
	a, err := m.begin(p)
	if err != nil {
		return refuse(w, err)
	}
	defer m.give(a.row)
	if err := control.SetReadDeadline(time.Time{}); err != nil {
		return errors.Join(err, a.end())
	}
	a.id = "cmpl-" + strconv.FormatUint(t.ids.Add(1), 10)
	if p.Stream {
		return a.stream(w, control)
	}
	return a.whole(w)
}

func (t *Talk) find(name string) (*talker, error) {
	if name == "" && len(t.models) == 1 {
		return t.models[0], nil
	}
	for _, m := range t.models {
		if m.name == name {
			return m, nil
		}
	}
	return nil, oip.Errorf(oip.NotFound, "there is no model %q", name)
}
