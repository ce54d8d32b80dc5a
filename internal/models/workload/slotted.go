package workload

// A Slotted is a workload whose predictors keep memory of their own for each sample that is under way:
// decoders, whose cache is larger than any sample.
type Slotted interface {
	// Slots is how many samples a predictor should have under way at once, where that is not
	// for the scenario to say.
	Slots() int
	Heavy
}

// A Heavy is a workload whose predictors take memory that counts.
type Heavy interface {
	// PredictorBytes is the memory that a predictor takes for so many samples at once.
	PredictorBytes(samples int) int64
}
