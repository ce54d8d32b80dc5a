package serve

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/oip"
)

// A part is a field of a form; content is that of its file if the name is file.
type formPart struct{ name, content string }

// form writes a form.
func form(t testing.TB, parts ...formPart) (contentType string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		write := w.CreateFormField
		if p.name == "file" {
			write = func(name string) (io.Writer, error) { return w.CreateFormFile(name, "speech.wav") }
		}
		to, err := write(p.name)
		if err == nil {
			_, err = io.WriteString(to, p.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.Bytes()
}

// startEar offers the model that hears, and returns its URL.
func startEar(t *testing.T) (*Talk, string) {
	t.Helper()
	offer, err := Open(t.Context(), earSource{newSource(t, -1, 0)}, Options{Name: "m", Room: 2})
	if err != nil {
		t.Fatal(err)
	}
	talk := NewTalk([]*Offer{offer})
	endpoint, stop := startOffer(t, offer, Web{Talk: talk})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
		if got := len(offer.writer.free); got != 2 || talk.arriving.Load() != 0 {
			t.Errorf("%d of 2 rows are free and %d bytes arrive when all is over", got, talk.arriving.Load())
		}
	})
	return talk, endpoint
}

func TestARecordingIsTranscribed(t *testing.T) {
	_, endpoint := startEar(t)
	file := formPart{"file", "\x02\x00\x01"}
	for _, c := range []struct {
		name   string
		parts  []formPart
		status int
		want   string
	}{
		{"a file", []formPart{file}, http.StatusOK, `{"text":"said cab"}`},
		{"all that may be said", []formPart{{"model", "m"}, {"language", "tlh"}, {"response_format", "json"}, {"stream", "false"}, {"prompt", ""}, {"temperature", "0.0"}, file}, http.StatusOK, `{"text":"said cab"}`},
		{"as text", []formPart{file, {"response_format", "text"}}, http.StatusOK, "said cab\n"},
		{"no file", []formPart{{"model", "m"}}, http.StatusBadRequest, "file is missing"},
		{"an empty file", []formPart{{"file", ""}}, http.StatusBadRequest, "that is no sound"},
		{"a file that is no sound", []formPart{{"file", strings.Repeat("x", 64)}}, http.StatusBadRequest, "that is no sound"},
		{"a file that is too large", []formPart{{"file", strings.Repeat("x", 65)}}, http.StatusRequestEntityTooLarge, "file has more than 64 bytes"},
		{"two files", []formPart{file, file}, http.StatusBadRequest, "file is there twice"},
		{"a field twice", []formPart{{"model", "m"}, {"model", "m"}, file}, http.StatusBadRequest, "model is there twice"},
		{"a long field", []formPart{{"prompt", strings.Repeat("x", 1025)}, file}, http.StatusRequestEntityTooLarge, "prompt has more than 1024 bytes"},
		{"another model", []formPart{{"model", "n"}, file}, http.StatusNotFound, `no model \"n\"`},
		{"another language", []formPart{{"language", "de"}, file}, http.StatusBadRequest, `language is \"de\", want tlh`},
		{"subtitles", []formPart{{"response_format", "srt"}, file}, http.StatusBadRequest, `want json or text`},
		{"a stream", []formPart{{"stream", "true"}, file}, http.StatusBadRequest, `want false`},
		{"what was said before", []formPart{{"prompt", "once"}, file}, http.StatusBadRequest, `want nothing`},
		{"chance", []formPart{{"temperature", "0.2"}, file}, http.StatusBadRequest, "the likeliest token"},
		{"no temperature", []formPart{{"temperature", "warm"}, file}, http.StatusBadRequest, "the likeliest token"},
		{"what nobody knows", []formPart{{"timestamp_granularities[]", "word"}, file}, http.StatusBadRequest, "timestamp_granularities[] is not known"},
	} {
		kind, body := form(t, c.parts...)
		if status, text := post(t, endpoint, kind, body); status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: status %d, %s, want %d and %s", c.name, status, text, c.status, c.want)
		}
	}
	kind, body := form(t, file)
	for name, c := range map[string]struct {
		kind   string
		body   []byte
		status int
	}{
		"JSON": {"application/json", []byte("{}"), http.StatusBadRequest}, "half a form": {kind, body[:len(body)/2], http.StatusBadRequest},
		"more than there is room for": {kind, make([]byte, formBytes+65), http.StatusRequestEntityTooLarge},
	} {
		if status, text := post(t, endpoint, c.kind, c.body); status != c.status {
			t.Errorf("%s: status %d, %s", name, status, text)
		}
	}
	if status, text := say(t, endpoint+"/v1/completions", `{"prompt":[1]}`); status != http.StatusNotFound {
		t.Errorf("a model that only hears continues a text: %d %s", status, text)
	}
	r, err := http.Get(endpoint + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if text, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(text), `"id":"m"`) {
		t.Errorf("the models are %s, %v", text, err)
	}
}

// post sends a form.
func post(t *testing.T, endpoint, kind string, body []byte) (int, string) {
	t.Helper()
	r, err := http.Post(endpoint+"/v1/audio/transcriptions", kind, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

// What arrives together is bounded, whatever the number of connections.
func TestRequestsThatArriveTogetherAreBounded(t *testing.T) {
	talk, endpoint := startEar(t)
	kind, body := form(t, formPart{"file", "\x01"})
	talk.arriving.Add(mostArriving)
	if status, text := post(t, endpoint, kind, body); status != http.StatusServiceUnavailable || !strings.Contains(text, "there is no room") {
		t.Errorf("status %d, %s", status, text)
	}
	talk.arriving.Add(-mostArriving)
	if status, text := post(t, endpoint, kind, body); status != http.StatusOK {
		t.Errorf("afterwards: status %d, %s", status, text)
	}
}

func FuzzSpeechForm(f *testing.F) {
	kind, body := form(f, formPart{"model", "m"}, formPart{"file", "abc"}, formPart{"temperature", "0"})
	f.Add(kind, body)
	f.Add("multipart/form-data; boundary=x", []byte("--x\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nabc\r\n--x--"))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		const most = 64
		form, err := readSpeech(bytes.NewReader(body), kind, most)
		if err != nil {
			if oip.CodeOf(badForm(err)) == oip.Internal {
				t.Errorf("a fault of the request is one of ours: %v", err)
			}
			return
		}
		if form.file == nil || len(form.file) > most || len(form.fields) > formFields {
			t.Errorf("a form of %d bytes and %d fields", len(form.file), len(form.fields))
		}
		_ = form.check("en")
	})
}

// A deadlineWriter keeps until when an answer has to be taken.
type deadlineWriter struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (*deadlineWriter) SetReadDeadline(time.Time) error       { return nil }
func (w *deadlineWriter) SetWriteDeadline(at time.Time) error { w.until = at; return nil }

func TestATranscriptionHasToBeTakenInTime(t *testing.T) {
	talk, _ := startEar(t)
	for format, want := range map[string]string{"json": `{"text":"said cab"}`, "text": "said cab\n"} {
		kind, body := form(t, formPart{"response_format", format}, formPart{"file", "\x02\x00\x01"})
		r := httptest.NewRequest(http.MethodPost, "/v1/audio/transcriptions", bytes.NewReader(body))
		r.Header.Set("Content-Type", kind)
		w := &deadlineWriter{ResponseRecorder: httptest.NewRecorder()}
		if err := talk.transcribe(w, r); err != nil || w.Body.String() != want || w.until.IsZero() {
			t.Errorf("%s: %v, %q, to be taken until %v; want %q with a deadline", format, err, w.Body, w.until, want)
		}
	}
}
