// Package netdivision runs a benchmark under the rules of the Network division: LoadGen and the data are
// here, and the whole system under test is on other machines.
//
//	model = netdivision.Wrap(model, engine)
//
// A sample is sent as it lies in memory after it was loaded, alone, without its index; what
// comes back are the bytes that LoadGen logs. Nothing is padded, batched, kept or computed on
// this side. The one thing that is written into an answer here is the index of the sample, in
// responses that have it, because the other side must not know it.
//
// The name of the system says "Network SUT", and is asked of every node.
package netdivision
