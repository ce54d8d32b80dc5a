package serve

import (
	"encoding/json"
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
// a stream of events; and models that write down speech: transcriptions.
type Talk struct {
	models []*talker
	ears   []*transcriber
	ids    atomic.Uint64

	arriving atomic.Int64 // bytes of requests that are being read
}

// A talker is one of these models.
type talker struct {
	*sequences
	workload.Talker
}

const (
	maxPrompt    = 4 << 20   // bytes of a request
	mostArriving = 256 << 20 // of requests that are being read
	promptTime   = 10 * time.Second
	answerTime   = 30 * time.Second // until a client takes what it was sent
	undecided    = "\ufffd"         // ends a text whose last letter is not whole
	finishLength = "length"
	finishStop   = "stop"
)

// NewTalk offers those of the models that continue texts or write down speech; nil: there is none.
func NewTalk(offers []*Offer) *Talk {
	t := &Talk{}
	for _, o := range offers {
		if o.writer == nil {
			continue
		}
		if w, ok := o.writer.writer.(workload.Talker); ok {
			t.models = append(t.models, &talker{o.writer, w})
		}
		if w, ok := o.writer.writer.(workload.Transcriber); ok {
			t.ears = append(t.ears, &transcriber{o.writer, w})
		}
	}
	if t.models == nil && t.ears == nil {
		return nil
	}
	return t
}

// Routes are the paths of the protocol, as far as there are models for them.
func (t *Talk) Routes() []server.Route {
	list := []server.Route{{Pattern: "GET /v1/models", Handle: t.list}}
	if t.models != nil {
		list = append(list,
			server.Route{Pattern: "POST /v1/completions", Handle: func(w http.ResponseWriter, r *http.Request) error { return t.complete(w, r, false) }},
			server.Route{Pattern: "POST /v1/chat/completions", Handle: func(w http.ResponseWriter, r *http.Request) error { return t.complete(w, r, true) }})
	}
	if t.ears != nil {
		list = append(list, server.Route{Pattern: "POST /v1/audio/transcriptions", Handle: t.transcribe})
	}
	return list
}

func (t *Talk) list(w http.ResponseWriter, _ *http.Request) error {
	data := []map[string]any{}
	show := func(name string) {
		data = append(data, map[string]any{"id": name, "object": "model", "owned_by": "mlperf"})
	}
	for _, m := range t.models {
		show(m.name)
	}
	for _, m := range t.ears {
		show(m.name)
	}
	return respond(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

// respond writes a document.
func respond(w http.ResponseWriter, status int, document any) error {
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return respondText(w, status, "application/json", text)
}

// respondText writes an answer of a type, which the client has to take in time.
func respondText(w http.ResponseWriter, status int, kind string, text []byte) error {
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	w.Header().Set("Content-Type", kind)
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
	var p *prompt
	err := t.read(w, r, maxPrompt, func(body io.Reader) error {
		text, err := io.ReadAll(body)
		if err == nil {
			p, err = readPrompt(text, chat)
		}
		return err
	})
	if err != nil {
		return refuse(w, badForm(err))
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
	a.id = "cmpl-" + strconv.FormatUint(t.ids.Add(1), 10)
	if p.Stream {
		return a.stream(w, http.NewResponseController(w))
	}
	return a.whole(w)
}

// read has the body of a request read in time, with memory for those that arrive together.
func (t *Talk) read(w http.ResponseWriter, r *http.Request, most int64, read func(io.Reader) error) error {
	size := r.ContentLength
	if size < 0 {
		size = most
	}
	if size > most {
		return oip.Errorf(oip.TooLarge, "the request has %d bytes, want at most %d", size, most)
	}
	defer t.arriving.Add(-size)
	if sum := t.arriving.Add(size); sum > mostArriving {
		return oip.Errorf(oip.Unavailable, "requests of %d bytes are arriving: there is no room for %d more", sum-size, size)
	}
	control := http.NewResponseController(w)
	if err := setReadDeadline(control, time.Now().Add(promptTime)); err != nil {
		return err
	}
	if err := read(http.MaxBytesReader(w, r.Body, most)); err != nil {
		return err
	}
	return setReadDeadline(control, time.Time{})
}

// setReadDeadline bounds how long a request may take to arrive. Where it cannot, that is no fault of the client.
func setReadDeadline(control *http.ResponseController, at time.Time) error {
	if err := control.SetReadDeadline(at); err != nil {
		return oip.Errorf(oip.Internal, "a deadline of reading: %w", err)
	}
	return nil
}

func (t *Talk) find(name string) (*talker, error) {
	return named(t.models, name, func(m *talker) string { return m.name })
}

// named finds a model by its name; an empty name is that of the only one.
func named[M any](models []M, name string, of func(M) string) (m M, err error) {
	if name == "" && len(models) == 1 {
		return models[0], nil
	}
	for _, m := range models {
		if of(m) == name {
			return m, nil
		}
	}
	return m, oip.Errorf(oip.NotFound, "there is no model %q", name)
}
