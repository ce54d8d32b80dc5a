package report

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/units"
)

// words are those of limitations, with their fields in braces. A part in brackets is left out if one of its fields is empty.
var words = map[limitation.ID]string{
	limitation.Setting:      "closed division: " + instead + by,
	limitation.NotCompared:  "the settings could not be compared with the rules: {value}",
	limitation.NoBenchmark:  "{origin} have no benchmark {key}[ but {want}]: settings are those of their mlperf.conf for any model, or of an earlier round",
	limitation.NoScenario:   "{origin} have no {value} of {key}",
	limitation.OneServerRun: "the logs of one Server run, where {origin} want the lowest of {want}",
	limitation.AtSameTime:   "not of the rules: it ran at the same time as {value} on this machine",

	limitation.TimedPreprocessing: "pre-processing is timed: latencies have it, those of the rules do not (open division)",

	limitation.OwnModel:        "own model: not a benchmark of the rules, and without their settings, data and targets",
	limitation.BuiltInModel:    "the built-in model: the official architecture with random weights, not the trained ones",
	limitation.SmallerModel:    "the built-in model is smaller than the real one: {value}",
	limitation.UnknownModel:    "model file of unknown source: {key} (SHA-256 {value}) is no official file[; it says that it was {origin}]",
	limitation.BuiltInData:     "the built-in data: synthetic, not the official set",
	limitation.PartOfData:      "a part of the data set: the first {value} samples",
	limitation.DatasetSize:     "the data set has {value} samples instead of the official {want}",
	limitation.SamplesInMemory: "{value} samples are in memory at once instead of the official {want}",
	limitation.ChangedData:     "{value} of {of} files of the data set are not as {want}: {key}",
	limitation.UncomparedData:  "the data set was not compared with its checksums, {value} to read: mlperf verify dataset {key} does it",
	limitation.Copies:          "{value} of {of} samples are copies of others by their content",
	limitation.Sampling:        "{value}, the benchmark takes the likeliest token",
	limitation.EndTokens:       "answers also end with {value}, as {origin} says; the benchmark's do not",
	limitation.MadeInputs:      "made inputs ({value}): speed may depend on their content",
	limitation.PartlyConverted: "{key}: {value} of {of} nodes, the others compute in FP32",
	limitation.PartlyQuantized: "{key}: {value} of {of} layers with weights, the others compute in FP32",
	limitation.OtherAnswers:    "{key}: the answers are not those of the FP32 model: {value}",
	limitation.NotNumbers:      "output {key} has values that are not numbers (NaN): the model or its inputs are broken",

	limitation.SimulatedEngine:  "the engine is simulated: it takes its time and computes nothing",
	limitation.NotRemote:        "not of the Network division: the system under test is on this machine",
	limitation.LocalEndpoint:    "not of the Network division: {value} is on this machine, and the system under test has to be on others",
	limitation.ServersModel:     "the servers have the model: whether it is the official one cannot be checked",
	limitation.Speculation:      "speculative decoding ({value}) is not allowed: {origin} have none for {key}[ but {want}]",
	limitation.CutFigures:       "not of the rules: latencies, rates and SLOs are {value}",
	limitation.UserPrompts:      "not a benchmark of the rules: model and prompts are the user's",
	limitation.Retried:          "{value} requests were sent again (retry): the rules do not allow that",
	limitation.UncountedRequest: "the servers counted {value} inferences, {of} requests were answered: " + notComputed,
	limitation.UncountedSample:  "the servers counted {value} of {of} samples: " + notComputed,
	limitation.UncheckedTokens:  "tokens as counted by the servers ({origin}): no tokenizer here checks them",
	limitation.FewerTokens:      "tokens: the servers tell of {value} in {of} answers, the tokenizer counts {want}: it may be that of another model",
	limitation.CachedTokens:     "the servers took {value} of {of} tokens of prompts from a cache, which the rules forbid",
	limitation.TokensInPieces:   "{value} tokens came in {of} pieces: times to the first token and per token are those of pieces",
	limitation.UncertainEnds:    "the server gives no finish_reason: nothing but the end of the stream shows that the {value} answers are whole",
	limitation.AlikeAnswers:     "the servers gave {value} distinct answers to {of} distinct prompts[; the data set has {want}]",
	limitation.FailedCalls:      "{value} of {of} requests failed, and their samples went on without the answers",
	limitation.UnrecordedCalls:  "{value} of {of} requests have no recorded answer: their samples went on with the servers' own",
	limitation.NotReplayed:      "no recorded answers were replayed: other requests than those of other tests",
	limitation.TimeLost:         "{value} of the run were not measured: this machine slept, or its clock was set",
	limitation.ClockSetBack:     "the clock of this machine was set back by {value} during the run",
	limitation.ExternalPower:    "the device was plugged into external power, and rules of mobile devices want it on its battery",
	limitation.PowerClient:      "the energy was read by another client of PTDaemon than the rules accept: theirs runs a command like this one",

	limitation.Unofficial:    "not an official MLPerf result: those come from the C++ LoadGen, unmodified, and are reviewed by MLCommons",
	limitation.RecordChanged: FileName + " was changed after the run: the results are not those of the run",
	limitation.Unsealed:      FileName + " of an older version without a seal: nothing shows whether it was changed after the run",
	limitation.NoRecord:      "this program made the logs, but " + FileName + ", which lists the limitations, is missing",
	limitation.FileChanged:   "{key} was changed after the run: it does not belong to these results",
	limitation.FileMissing:   "{key} is missing or cannot be read: the results cannot be checked against it",
	limitation.Older:         "{value}",

	limitation.FewerResponses: "{key}: {value} responses were judged, by the rules {want}",
	limitation.FewerLogged:    "{key}: the run was to keep {value} responses, by the rules {want}",
	limitation.LowerScore:     "{key}: a score of {value} was enough, by the rules {want}",
	limitation.WiderEntropies: "{key}: entropies could differ by {value}, by the rules {want}",
	limitation.WiderLengths:   "{key}: the bounds of lengths were wider than the rules', {want} tokens",
	limitation.OtherEndToken:  "{key}: answers of the model end with {want}, and {value} was looked for",
}

const (
	instead     = "{key} is {value} instead of the official {want}"
	by          = "[ ({origin})]"
	notComputed = "either one of several behind a balancer was asked, or answers were not computed"
	quickRun    = "quick run: "
)

// Sentence is a limitation in words.
func Sentence(l limitation.Limitation) string {
	switch {
	case l.ID == limitation.Setting && l.Role == limitation.QuickRun:
		return quickRun + quick(l)
	case l.ID == limitation.Setting && l.Key == arrivals:
		return worded(otherArrivals+by, l)
	case words[l.ID] == "": // of a later version
		return worded(string(l.ID)+"[: {key}][: {value}][ of {of}][, by the rules {want}]"+by, l)
	}
	return worded(words[l.ID], named(l))
}

// Remark is a setting in words that is harder than the rules', or, where a division is named, one that the division leaves to the
// submitter. It limits nothing.
func Remark(l limitation.Limitation, division string) string {
	text := worded(instead+by, named(l))
	if l.Key == arrivals {
		text = worded(otherArrivals+by, l)
	}
	if division != "" {
		return division + " division: " + text
	}
	return text + ": harder than the rules, or without effect on them"
}

const (
	arrivals      = "arrivals"
	otherArrivals = "not of the rules: queries arrive by {value} instead of {want}"
)

// named names the setting as users know it.
func named(l limitation.Limitation) limitation.Limitation {
	if l.ID == limitation.Setting && l.Key == "target_latency" { // in other scenarios an expectation
		l.Key = "the latency bound"
	}
	return l
}

func quick(l limitation.Limitation) string { return worded("{key} is {value} instead of {want}", l) }

// optional is a part of a text that is left out if one of its fields is empty.
var optional = regexp.MustCompile(`\[[^\]]*\]`)

// worded puts the fields of a limitation into a text.
func worded(text string, l limitation.Limitation) string {
	fields := map[string]string{"{key}": l.Key, "{value}": shown(l.Value), "{of}": shown(l.Of), "{want}": shown(l.Want), "{origin}": l.Origin}
	text = optional.ReplaceAllStringFunc(text, func(part string) string {
		for name, value := range fields {
			if value == "" && strings.Contains(part, name) {
				return ""
			}
		}
		return part[1 : len(part)-1]
	})
	var pairs []string
	for name, value := range fields {
		pairs = append(pairs, name, value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// shown is a field of a limitation, which is data, as people write it.
func shown(field string) string {
	if n, err := strconv.ParseInt(field, 10, 64); err == nil && n < 1e12 { // more than that is a seed
		return units.Number(float64(n))
	}
	return durationIn(field)
}

// durationIn is a text of a record, as people write it if it is a duration.
func durationIn(text string) string {
	if d, err := time.ParseDuration(strings.ReplaceAll(text, " ", "")); err == nil && strings.HasSuffix(text, "s") { // "0" is any number
		return units.ExactDuration(d)
	}
	return text
}

// Delay is how long samples waited for a batch.
func (b *Backend) Delay() string { return durationIn(b.MaxDelay) }

// Limitations are those of a run.
type Limitations []limitation.Limitation

// Has reports whether there is a limitation of a kind.
func (list Limitations) Has(id limitation.ID) bool {
	return slices.ContainsFunc(list, func(l limitation.Limitation) bool { return l.ID == id })
}

// Sentences are the limitations in words. Settings of a quick run are one sentence.
func (list Limitations) Sentences() (sentences []string) {
	at := -1
	for _, l := range list {
		switch ofQuick := l.ID == limitation.Setting && l.Role == limitation.QuickRun; {
		case ofQuick && at >= 0:
			sentences[at] += ", " + quick(l)
			continue
		case ofQuick:
			at = len(sentences)
		}
		sentences = append(sentences, Sentence(l))
	}
	return sentences
}

// MarshalJSON writes the limitations, each with its words.
func (list Limitations) MarshalJSON() ([]byte, error) {
	type inWords struct {
		limitation.Limitation
		Text string `json:"text"`
	}
	all := []inWords{}
	for _, l := range list {
		all = append(all, inWords{l, Sentence(l)})
	}
	return json.Marshal(all)
}

// alike reports whether two limitations read the same: how long queries of a quick run would take is in its origin alone.
func alike(a, b limitation.Limitation) bool {
	return a == b || a.ID == b.ID && a.Key == b.Key && Sentence(a) == Sentence(b)
}

// Add appends a limitation, unless the list has one that reads the same.
func (list Limitations) Add(l limitation.Limitation) Limitations {
	if slices.ContainsFunc(list, func(have limitation.Limitation) bool { return alike(have, l) }) {
		return list
	}
	return append(list, l)
}

// A LimitationCount is a limitation of some of several runs.
type LimitationCount struct {
	limitation.Limitation
	Runs int
}

// LimitationCounts are the limitations of several runs, the most frequent first.
type LimitationCounts []LimitationCount

// CountLimitations counts the limitations of runs.
func CountLimitations(runs ...*Results) (counts LimitationCounts) {
	for _, r := range runs {
		for _, l := range r.Limitations {
			i := slices.IndexFunc(counts, func(c LimitationCount) bool { return alike(c.Limitation, l) })
			if i < 0 {
				i, counts = len(counts), append(counts, LimitationCount{Limitation: l})
			}
			counts[i].Runs++
		}
	}
	slices.SortStableFunc(counts, func(a, b LimitationCount) int { return b.Runs - a.Runs })
	return counts
}

// Sentences are the limitations in words. Format adds the number of runs.
func (counts LimitationCounts) Sentences(format func(sentence string, runs int) string) (sentences []string) {
	for i := 0; i < len(counts); {
		var same Limitations
		runs := counts[i].Runs
		for ; i < len(counts) && counts[i].Runs == runs; i++ {
			same = append(same, counts[i].Limitation)
		}
		for _, s := range same.Sentences() {
			sentences = append(sentences, format(s, runs))
		}
	}
	return sentences
}

// MarshalJSON writes the limitation with its words.
func (c LimitationCount) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		limitation.Limitation
		Text    string `json:"text"`
		Results int    `json:"results"`
	}{c.Limitation, Sentence(c.Limitation), c.Runs})
}

// limit adds a limitation, if the results do not have it.
func (r *Results) limit(id limitation.ID, key string) {
	r.Limitations = r.Limitations.Add(limitation.Limitation{ID: id, Key: key})
}

// marks follow the verdict on a record that is in doubt, the lightest first.
var marks = []struct {
	id   limitation.ID
	mark string
}{
	{limitation.Unsealed, ", UNSEALED"}, {limitation.NoRecord, ", WITHOUT RECORD"}, {limitation.FileMissing, ", FILES MISSING"},
	{limitation.FileChanged, ", CHANGED"}, {limitation.RecordChanged, ", CHANGED"},
}

// Doubts are the limitations that say what of a record and its files is not as the run wrote it, as far as the sums tell.
func (r *Results) Doubts() (list Limitations) {
	for _, l := range r.Limitations {
		for _, m := range marks {
			if l.ID == m.id {
				list = append(list, l)
			}
		}
	}
	return list
}

// mark follows the verdict on a record that is in doubt.
func (r *Results) mark() (mark string) {
	for _, m := range marks {
		if r.Limitations.Has(m.id) {
			mark = m.mark
		}
	}
	return mark
}
