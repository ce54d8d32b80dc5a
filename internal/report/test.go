package report

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A Test has the effective settings of a test. results.json has those that the table of package loadgen names: times in nanoseconds, shares
// as fractions, and seeds as texts, because they have 64 bits, of which many readers of JSON keep 53. What a record does not have is zero.
type Test loadgen.EffectiveSettings

// NewTest describes the settings that a test has.
func NewTest(e loadgen.EffectiveSettings) *Test {
	e.TargetQPS, e.TargetLatencyPercentile = orZero(e.TargetQPS), orZero(e.TargetLatencyPercentile)
	if !e.UseTokenLatencies || e.Scenario != loadgen.Server {
		e.ServerTTFTLatency, e.ServerTPOTLatency = 0, 0
	}
	var shown loadgen.EffectiveSettings
	for _, row := range recorded() {
		reflect.ValueOf(row.Effective(&shown)).Elem().Set(reflect.ValueOf(row.Effective(&e)).Elem())
	}
	t := Test(shown)
	return &t
}

// SameTraffic reports whether two tests draw the same samples at the same instants.
func (t *Test) SameTraffic(o *Test) bool {
	traffic := func(t *Test) Test {
		return Test{
			TargetQPS: t.TargetQPS, ServerArrivals: t.ServerArrivals, SamplesPerQuery: t.SamplesPerQuery, PerformanceSampleCount: t.PerformanceSampleCount,
			Common: loadgen.Common{QSLRNGSeed: t.QSLRNGSeed, SampleIndexRNGSeed: t.SampleIndexRNGSeed, ScheduleRNGSeed: t.ScheduleRNGSeed},
		}
	}
	return t != nil && o != nil && reflect.DeepEqual(traffic(t), traffic(o))
}

// recorded are the rows of the table that results.json has.
func recorded() (rows []*loadgen.Setting) {
	for _, row := range loadgen.Settings() {
		if row.JSON != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

// testDocument is a struct with a field for each of the recorded settings, as JSON has them.
func testDocument() reflect.Type {
	var fields []reflect.StructField
	for i, row := range recorded() {
		field := row.Effective(&loadgen.EffectiveSettings{})
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprint("Field", i), Type: reflect.TypeOf(field).Elem(), Tag: reflect.StructTag(fmt.Sprintf("json:%q", row.JSON)),
		})
	}
	return reflect.StructOf(fields)
}

// MarshalJSON writes the recorded settings.
func (t Test) MarshalJSON() ([]byte, error) {
	e, document := loadgen.EffectiveSettings(t), reflect.New(testDocument()).Elem()
	for i, row := range recorded() {
		document.Field(i).Set(reflect.ValueOf(row.Effective(&e)).Elem())
	}
	return json.Marshal(document.Interface())
}

// UnmarshalJSON reads the recorded settings.
func (t *Test) UnmarshalJSON(text []byte) error {
	document := reflect.New(testDocument())
	if err := json.Unmarshal(text, document.Interface()); err != nil {
		return err
	}
	var e loadgen.EffectiveSettings
	for i, row := range recorded() {
		reflect.ValueOf(row.Effective(&e)).Elem().Set(document.Elem().Field(i))
	}
	*t = Test(e)
	return nil
}
