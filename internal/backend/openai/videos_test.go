package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

const someVideo = "\x00\x00\x00\x08ftyp and more"

// film has a server answer a request for a video.
func film(t *testing.T, kind, body string, status int) (*recorder, backend.Generated, error) {
	t.Helper()
	_, s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/videos/generations" {
			http.NotFound(w, r) // also the list of models: requests name none
			return
		}
		time.Sleep(20 * time.Millisecond)
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	s.Stream, s.Model, s.texts.Videos = true, "", true
	g, _, err := open(t, s)
	testenv.Must(t, err)
	r, err := ask(t, g, backend.Prompt{Text: "a", Video: &backend.VideoRequest{Prompt: "a"}})
	return r, g.Measured(), err
}

func TestAnswersOfVideos(t *testing.T) {
	for name, c := range map[string]struct{ kind, body, want string }{
		"a path":         {"application/json", `{"video_id": "v1", "video_path": "/shared/v1.mp4"}`, "/shared/v1.mp4"},
		"base64":         {"application/json", `{"video_bytes": "` + base64.StdEncoding.EncodeToString([]byte(someVideo)) + `", "video_id": "v1"}`, someVideo},
		"the video":      {"video/mp4", someVideo, someVideo},
		"without a type": {"", someVideo, someVideo},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, m, err := film(t, c.kind, c.body, http.StatusOK)
				if err != nil || r.text != c.want || r.dones != 1 || r.firsts != 0 || r.doneAt != 20*time.Millisecond || m.Answers != 1 || m.Tokens != 0 {
					t.Errorf("%+v, %+v, %v", r, m, err)
				}
			})
		})
	}
}

// Any other field, and any answer that is not a video, is a failure that names what is wrong.
func TestAnswersThatAreNotVideos(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		status int
		want   string
	}{
		"both":             {`{"video_id": "v", "video_path": "p", "video_bytes": "AAAA"}`, 200, "video_bytes, video_id, video_path … video_id and video_path"},
		"null bytes":       {`{"video_id": "v", "video_path": "p", "video_bytes": null}`, 200, "video_bytes, video_id, video_path"},
		"another field":    {`{"video_id": "v", "video_path": "p", "status": "ok"}`, 200, "status, video_id, video_path"},
		"no id":            {`{"video_path": "p"}`, 200, "video_path … video_id"},
		"an empty path":    {`{"video_id": "v", "video_path": ""}`, 200, "video_path … text"},
		"a number":         {`{"video_id": 7, "video_path": "p"}`, 200, "video_id … 7 … text"},
		"not base64":       {`{"video_id": "v", "video_bytes": "????"}`, 200, "video_bytes … base64"},
		"another format":   {`{"video_id": "v", "video_bytes": "UklGRgAAAABBVkkg"}`, 200, "video_bytes … 12 … MP4"},
		"an error":         {`{"error": {"message": "out of memory"}}`, 200, "out of memory"},
		"a list":           {`[]`, 200, "malformed"},
		"not JSON":         {`<html>`, 200, "html"},
		"nothing":          {``, 200, "malformed"},
		"a field twice":    {`{"video_id": "v", "video_path": "p", "video_path": "q"}`, 200, "video_path"},
		"status 500":       {`{"error": "boom"}`, 500, "500 … boom"},
		"another encoding": {`{"detail": "no such route"}`, 404, "404 … no such route"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, m, err := film(t, "application/json", c.body, c.status)
				if !testenv.Names(err, c.want) || r.dones != 0 || m.Answers != 0 || len(m.Failures) != 1 {
					t.Errorf("%v, %+v, want %q", err, m, c.want)
				}
			})
		})
	}
}

// The request is that of the client of mlcommons/endpoints, with what the user adds.
func TestRequestsForVideos(t *testing.T) {
	var got string
	_, s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); len(body) > 0 {
			got = string(body)
		}
		fmt.Fprint(w, someVideo)
	}))
	s.Extras.Body, s.texts.Videos = []string{"max_batch=3"}, true
	g, _, err := open(t, s)
	testenv.Must(t, err)
	if got != "" {
		t.Errorf("opening asks for %s", got)
	}
	video := backend.VideoRequest{Prompt: "a <b>", Seconds: []byte("5.0"), Guidance: []byte("4.0"), Guidance2: []byte("3.0"), Boundary: 0.875}
	if _, err := ask(t, g, backend.Prompt{Text: "a", Video: &video}); err != nil {
		t.Fatal(err)
	}
	const want = `{"prompt":"a <b>","size":"","seconds":5.0,"fps":0,"num_inference_steps":0,"guidance_scale":4.0,"guidance_scale_2":3.0,"seed":0,` +
		`"num_frames":0,"boundary_ratio":0.875,"output_format":"","response_format":"","max_batch":3}`
	if got != want || !json.Valid([]byte(got)) || strings.Contains(got, "model") {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func FuzzVideo(f *testing.F) {
	f.Add([]byte(`{"video_id": "v", "video_path": "p"}`))
	f.Add([]byte(`{"video_id": "v", "video_bytes": "AAAACGZ0eXA="}`))
	f.Add([]byte(someVideo))
	f.Fuzz(func(t *testing.T, data []byte) {
		a := &answer{session: &session{stats: newStats(), servers: &servers{}}}
		if f := a.takeVideo(data); f == nil && len(a.text) == 0 {
			t.Errorf("%q is an answer without a video", data)
		}
	})
}
