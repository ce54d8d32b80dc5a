// Package netdivision runs a benchmark under the rules of the Network division: LoadGen and the data are
// here, and the whole system under test is on other machines.
//
//	model = netdivision.Wrap(model, engine)
//
// A sample is sent as it was loaded, alone, without its index; the response is logged as it came. This side neither pads, batches,
// caches nor computes. It writes the index of the sample into responses that have one, because the other side must not know
// it.
//
// The name of the system begins with "Network SUT" and has the names of all nodes.
package netdivision
