package report

// Caveats that runs of this program have, word by word.
const (
	// CaveatUnofficial is one of every run: it says nothing about the run itself.
	CaveatUnofficial = "not an official MLPerf result: those come from the C++ LoadGen, unmodified, and are reviewed by MLCommons"
	// CaveatBuiltInModel is one of a model that no submission of the closed division may use.
	CaveatBuiltInModel = "the built-in model: the official architecture with random weights, not the trained ones"
	// CaveatBuiltInData is one of data that no submission may use.
	CaveatBuiltInData = "the built-in data: synthetic, not the official set"
)
