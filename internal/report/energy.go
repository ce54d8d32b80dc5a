package report

import (
	"fmt"
	"strings"
)

// Energy is what the machine took during the traffic.
type Energy struct {
	Source string `json:"source"`
	// NotMeasured says why there are no numbers; then all of them are 0.
	NotMeasured     string  `json:"not_measured,omitempty"`
	Joules          float64 `json:"joules,omitempty"`
	JoulesPerSample float64 `json:"joules_per_sample,omitempty"`
	MeanWatts       float64 `json:"mean_watts,omitempty"`
	PeakWatts       float64 `json:"peak_watts,omitempty"`
	// ClockOffsetNS was added to the times of a meter that has a clock of its own.
	ClockOffsetNS int64        `json:"clock_offset_ns,omitempty"`
	Parts         []EnergyPart `json:"parts,omitempty"` // none contains another
}

// An EnergyPart is what one part of the machine took.
type EnergyPart struct {
	Name      string    `json:"name"`
	Joules    float64   `json:"joules"`
	MeanWatts float64   `json:"mean_watts"`
	PeakWatts float64   `json:"peak_watts"`
	Watts     []PowerAt `json:"watts,omitempty"`
}

// PowerAt is a power at a time since the traffic began.
type PowerAt struct {
	Seconds float64 `json:"seconds"`
	Watts   float64 `json:"watts"`
}

// String says in a line what was taken.
func (e *Energy) String() string {
	if e.NotMeasured != "" {
		return "not measured: " + e.NotMeasured
	}
	text := fmt.Sprintf("%s J", digits(e.Joules))
	if e.JoulesPerSample > 0 {
		text += fmt.Sprintf(", %s J per sample", digits(e.JoulesPerSample))
	}
	text += fmt.Sprintf(", %s W on average, %s W at most", digits(e.MeanWatts), digits(e.PeakWatts))
	var names []string
	for _, p := range e.Parts {
		names = append(names, p.Name)
	}
	return text + " (" + strings.Join(names, ", ") + ")"
}
