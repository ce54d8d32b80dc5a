package serve

import (
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
)

// film answers a request for a video (mlcommons/endpoints, src/inference_endpoint/videogen). No files are kept here: who asks for the
// path of a video gets the video itself, as from some servers of TensorRT-LLM.
func (a *OpenAI) film(w http.ResponseWriter, r *http.Request) error {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPrompt))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return protocol.Errorf(protocol.TooLarge, "the request has more than %d bytes", large.Limit)
	}
	var request struct {
		backend.VideoRequest
		Model string `json:"model"`
	}
	if err == nil {
		err = json.Unmarshal(text, &request, json.RejectUnknownMembers(true))
	}
	if err != nil {
		return invalid(err)
	}
	m := a.films[0]
	for _, other := range a.films {
		if request.Model != "" && taskOf(request.Model) == other.metadata.Name {
			m = other
		}
	}
	if request.Model != "" && taskOf(request.Model) != m.metadata.Name {
		return protocol.Errorf(protocol.NotFound, "the server makes no videos with a model %q", request.Model)
	}
	job, err := m.enter(&taskJob{model: m}, m.row)
	if err != nil {
		return err
	}
	defer job.End()
	if err := m.exchange.Film(&request.VideoRequest, job.answerer.store.Row(0)); err != nil {
		return invalid(err)
	}
	_, out, err := job.Run(r.Context())
	if err != nil {
		return err
	}
	video := out[0].Bytes()
	if request.ResponseFormat != "video_bytes" {
		w.Header().Set("Content-Type", "video/mp4")
		_, _ = w.Write(video) // an error means that the client has gone
		return nil
	}
	return respond(w, struct {
		ID    string `json:"video_id"`
		Video []byte `json:"video_bytes"`
	}{"video-" + strconv.FormatUint(a.ids.Add(1), 10), video})
}

func taskOf(model string) string { return model + protocol.TaskSuffix }
