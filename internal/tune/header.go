package tune

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/profile"
)

// JournalSchema names the form of a journal.
const JournalSchema = "mlperf-go/tune/1"

// A Header is the first line of a journal: everything that decides what a point measures.
type Header struct {
	Schema string `json:"schema"`
	profile.Subject
	Engine          string        `json:"engine"`
	Fingerprint     string        `json:"fingerprint"` // of the request
	ModelFiles      []string      `json:"model_files"` // label, path and size
	Dataset         string        `json:"dataset"`
	Percentile      float64       `json:"percentile,omitempty"`
	SamplesPerQuery int           `json:"samples_per_query,omitempty"`
	BoundAsked      string        `json:"bound_asked,omitempty"` // of Server: a time, or auto
	Bound           time.Duration `json:"bound_ns,omitempty"`    // that was used
	Base            Point         `json:"base"`                  // what a run without a profile chooses
}

// differences names what keeps measurements of two searches from being compared. What was
// found by measuring is taken over instead.
func (h Header) differences(other Header) []string {
	h.Bound, other.Bound = 0, 0
	h.Base, other.Base = Point{}, Point{}
	a, b := h.fields(), other.fields()
	var names []string
	for name, value := range a {
		if !bytes.Equal(value, b[name]) {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, known := a[name]; !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if i := slices.Index(names, "fingerprint"); i >= 0 && len(names) > 1 {
		names = slices.Delete(names, i, i+1) // the others say it in words
	}
	return names
}

// fields are the header's as they are written.
func (h Header) fields() map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	if data, err := json.Marshal(h); err == nil {
		_ = json.Unmarshal(data, &fields) // it is an object
	}
	return fields
}

func (h *Header) parse(line []byte) error {
	if err := strict(line, h); err != nil {
		return err
	}
	if h.Schema != JournalSchema {
		return fmt.Errorf("schema is %q, this program reads %q", h.Schema, JournalSchema)
	}
	return nil
}

// strict reads one JSON document without unknown fields.
func strict(data []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON document")
	}
	return nil
}
