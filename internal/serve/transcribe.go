package serve

import (
	"io"
	"net/http"

	"github.com/mlperf-go/mlperf/internal/workload"
)

// A transcriber is a model that writes down speech.
type transcriber struct {
	*sequences
	workload.Transcriber
}

// transcribe answers a recording with what is said.
func (t *Talk) transcribe(w http.ResponseWriter, r *http.Request) error {
	most := int64(0)
	for _, m := range t.ears {
		most = max(most, m.FileBytes())
	}
	var f *speechForm
	err := t.read(w, r, most+formBytes, func(body io.Reader) (err error) {
		f, err = readSpeech(body, r.Header.Get("Content-Type"), most)
		return err
	})
	if err != nil {
		return refuse(w, badForm(err))
	}
	m, err := named(t.ears, f.fields["model"], func(m *transcriber) string { return m.name })
	if err == nil {
		err = f.check(m.Language())
	}
	if err != nil {
		return refuse(w, err)
	}
	text, err := m.write(f.file)
	if err != nil {
		return refuse(w, err)
	}
	if f.fields["response_format"] == "text" {
		return respondText(w, http.StatusOK, "text/plain; charset=utf-8", []byte(text+"\n"))
	}
	return respond(w, http.StatusOK, map[string]any{"text": text})
}

// write writes a recording down. It goes on for a client that has gone, as a worker uses the row.
func (m *transcriber) write(file []byte) (string, error) {
	row, err := m.take()
	if err != nil {
		return "", err
	}
	defer m.give(row)
	if err := m.load(row, file); err != nil {
		return "", err
	}
	if err := m.submit(row, 0); err != nil {
		return "", err
	}
	response, err := m.wait(row)
	if err != nil {
		return "", err
	}
	return m.Text(response), nil
}
