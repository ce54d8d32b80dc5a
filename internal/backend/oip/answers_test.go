package oip

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/client"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A fakeServer describes a model and answers all requests with fixed texts.
type fakeServer struct{ model, task, stats, answer string }

func (l *fakeServer) serve(t *testing.T) string {
	t.Helper()
	text := func(s *string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, *s)
		}
	}
	mux := http.NewServeMux()
	about, ready := `{"name":"fake","version":"1"}`, ""
	mux.HandleFunc("/v2", text(&about))
	mux.HandleFunc("/v2/models/{model}/ready", text(&ready))
	mux.HandleFunc("/v2/models/m", text(&l.model))
	mux.HandleFunc("/v2/models/m-task", text(&l.task))
	mux.HandleFunc("/v2/models/{model}/stats", text(&l.stats))
	mux.HandleFunc("/v2/models/{model}/infer", text(&l.answer))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// goodServer describes a model of two numbers, and a task of the same.
func goodServer() *fakeServer {
	const in = `"inputs":[{"name":"x","datatype":"FP32","shape":[-1,2]}]`
	return &fakeServer{model: `{"name":"m",` + in + `,"outputs":[{"name":"y","datatype":"FP32","shape":[-1,2]},{"name":"z","datatype":"BYTES","shape":[-1]}]}`,
		task: `{"name":"m-task",` + in + `,"outputs":[{"name":"response","datatype":"UINT8","shape":[1,-1]}]}`}
}

func TestWrongAnswersFailTheRun(t *testing.T) {
	const y, z = `{"name":"y","datatype":"FP32","shape":[1,2],"data":[1,2]}`, `{"name":"z","datatype":"BYTES","shape":[1],"data":["ab"]}`
	for _, c := range []struct{ name, head, outputs, want string }{
		{"right", `"model_name":"m"`, y + "," + z, ""},
		{"in another order", `"model_name":"m"`, z + "," + y, ""},
		{"without the name of the model", `"id":""`, y + "," + z, ""},
		{"of another model", `"model_name":"n"`, y + "," + z, `the answer is of the model "n", asked was "m"`},
		{"fewer", `"model_name":"m"`, y, "the answer has 1 outputs, asked were 2"},
		{"of another name", `"model_name":"m"`, y + "," + strings.Replace(z, `"z"`, `"w"`, 1), "tensor w: it was not asked for; asked were [y z]"},
		{"of another type", `"model_name":"m"`, strings.Replace(y, "FP32", "FP64", 1) + "," + z, "tensor y: it is float64[1 2], the model has float32[? 2]"},
		{"of another shape", `"model_name":"m"`, strings.Replace(y, "[1,2]", "[2,1]", 1) + "," + z, "tensor y: it is float32[2 1], the model has float32[? 2]"},
		{"of more rows than there is room for", `"model_name":"m"`, `{"name":"y","datatype":"FP32","shape":[2,2],"data":[1,2,3,4]},` + z, "tensor y: it has the shape [2 2], expected [1 2]"},
		{"of elements that are not there", `"model_name":"m"`, y + `,{"name":"z","datatype":"BYTES","shape":[1000000000],"data":["ab"]}`, "tensor z BYTES[1000000000] has 1000000000 elements, which 6 bytes cannot be"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := goodServer()
			l.answer = `{` + c.head + `,"outputs":[` + c.outputs + `]}`
			_, s := open(t, l.serve(t))
			in, out := tensor.Of([]float32{1, 2}, 1, 2), tensor.New(tensor.Float32, 1, 2)
			outputs := []backend.Value{bind(t, s, out), nil}
			err := s.Run(t.Context(), []backend.Value{bind(t, s, in)}, outputs)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
				return
			}
			if err != nil || tensor.Data[float32](out)[1] != 2 || outputs[1].Tensor().Strings()[0] != "ab" {
				t.Errorf("%v, %v, %v", err, out, outputs[1])
			}
		})
	}
}

func TestTaskAnswersInJSON(t *testing.T) {
	sample := []tensor.Tensor{tensor.New(tensor.Float32, 1, 2)}
	for answer, want := range map[string]string{
		`{"outputs":[{"name":"response","datatype":"UINT8","shape":[1,2],"data":[104,105]}]}`: "so: hi",
		`{"outputs":[{"name":"response","datatype":"UINT8","shape":[1,0],"data":[]}]}`:        "so: ",
		`{"outputs":[{"name":"response","datatype":"UINT8","shape":[2],"data":[104,105]}]}`:   "must be response UINT8[1 ?]",
		`{"outputs":[{"name":"response","datatype":"UINT8","shape":[2,1],"data":[104,105]}]}`: "must be response UINT8[1 ?]",
		`{"outputs":[{"name":"response","datatype":"INT8","shape":[1,2],"data":[104,105]}]}`:  "must be response UINT8[1 ?]",
		`{"outputs":[]}`: "the answer has 0 outputs, asked were 1",
		`{"model_name":"m","outputs":[{"name":"response","datatype":"UINT8","shape":[1,0],"data":[]}]}`: `of the model "m", asked was "m-task"`,
	} {
		l := goodServer()
		l.answer = answer
		e, err := New(t.Context(), Config{Client: client.Options{Endpoints: []string{l.serve(t)}}, Model: "m", Task: "m-task"})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := e.Respond(t.Context(), nil, nil); !testenv.Names(err, "0 tensors … m-task … 1") {
			t.Errorf("a sample without tensors: %v", err)
		}
		got, _, err := e.Respond(t.Context(), sample, []byte("so: "))
		e.Close()
		if right := strings.HasPrefix(want, "so: "); right && (err != nil || string(got) != want) || !right && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v, want %q", answer, got, err, want)
		}
	}
}

func TestModelsThatAreNotTasks(t *testing.T) {
	const response, tokens = `{"name":"response","datatype":"UINT8"}`, `{"name":"tokens","datatype":"INT32"}`
	for outputs, want := range map[string]string{response: "", response + "," + tokens: "", "": "has the outputs []", tokens: "has the outputs", tokens + "," + response: "has the outputs",
		response + "," + tokens + `,{"name":"more","datatype":"INT32"}`: "has the outputs", `{"name":"response","datatype":"BYTES"}`: "has the outputs", `{"name":"answer","datatype":"UINT8"}`: `must be one of bytes, "response"`} {
		l := goodServer()
		l.task = `{"name":"m-task","outputs":[` + outputs + `]}`
		e, err := New(t.Context(), Config{Client: client.Options{Endpoints: []string{l.serve(t)}}, Model: "m", Task: "m-task"})
		if err == nil {
			e.Close()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("outputs %s: %v, want %q", outputs, err, want)
		}
	}
}

func TestLargeCounts(t *testing.T) {
	l := goodServer()
	l.stats = `{"model_stats":[{"name":"m","inference_count":18446744073709551615,"inference_stats":{"queue":{"count":1,"ns":18446744073709551615},"compute_infer":{"count":2,"ns":5}}}]}`
	e, _ := open(t, l.serve(t))
	a, err := e.Account(t.Context())
	if err != nil || a.Server.Queue.Time != math.MaxInt64 || a.Server.Compute.Time != 5 || a.Server.Inferences != math.MaxUint64 {
		t.Errorf("%+v, %v", a.Server, err)
	}
}
