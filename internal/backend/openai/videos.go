package openai

import (
	"encoding/base64"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/fileio/mp4"
)

// Videos is the route of servers that make videos (trtllm-serve; mlcommons/endpoints, src/inference_endpoint/videogen).
const Videos = "videos/generations"

// maxVideoAnswer bounds an answer with a video: 81 frames of 1280×720 have 224 MB without compression, and a third more in base64.
const maxVideoAnswer = 512 << 20

// maxQuoted bounds what errors quote of an answer before secrets are taken out of it.
const maxQuoted = 1 << 10

// videoBody writes the request for a video.
func (s *session) videoBody(p *backend.Prompt) ([]byte, error) {
	return json.Marshal(struct {
		backend.VideoRequest
		Extras map[string]any `json:",embed"`
	}{*p.Video, s.servers.extras.body}, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

// takeVideo takes an answer that is a video, or JSON with its bytes or its path at the server: these fields and no others.
func (a *answer) takeVideo(data []byte) *failure {
	if mp4.Is(data) {
		a.text = data
		return a.tookVideo()
	}
	var fields map[string]jsontext.Value
	if err := json.Unmarshal(data, &fields); err != nil {
		return a.malformed(err, data[:min(len(data), maxQuoted)])
	}
	if _, failed := fields["error"]; failed {
		return failf(kindError, "%s", a.session.quote(string(fields["error"])))
	}
	names := slices.Sorted(maps.Keys(fields))
	text := func(name string) (v string, f *failure) {
		if err := json.Unmarshal(fields[name], &v); err != nil || v == "" {
			return "", failf(kindVideo, "%s is %s: must be a text", name, a.session.quote(string(fields[name][:min(len(fields[name]), maxQuoted)])))
		}
		return v, nil
	}
	for _, kind := range []string{"video_bytes", "video_path"} {
		if len(names) != 2 || !slices.Contains(names, kind) || !slices.Contains(names, "video_id") {
			continue
		}
		if _, f := text("video_id"); f != nil {
			return f
		}
		v, f := text(kind)
		if f != nil {
			return f
		}
		if a.text = []byte(v); kind == "video_path" {
			return a.tookVideo()
		}
		var err error
		if a.text, err = base64.StdEncoding.DecodeString(v); err != nil {
			return failf(kindVideo, "video_bytes are not base64: %v", err)
		}
		if !mp4.Is(a.text) {
			return failf(kindVideo, "video_bytes are %d bytes that are not an MP4 file", len(a.text))
		}
		return a.tookVideo()
	}
	return failf(kindVideo, "the answer has the fields %s: must be video_id and video_path, or video_id and video_bytes, or an MP4 file",
		a.session.quote(strings.Join(names, ", ")))
}

// tookVideo notes what was sent and what came, so that an answer to several requests shows.
func (a *answer) tookVideo() *failure {
	a.items = append(a.items, item{sent: a.request, got: maphash.Bytes(a.session.stats.seed, a.text)})
	return nil
}
