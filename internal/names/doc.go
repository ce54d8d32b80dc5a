// Package names compares the names that people type: of models, scenarios, modes, devices.
// Case, hyphens, underscores and spaces do not matter.
//
//	names.Same("Single-Stream", "singlestream") // true
//
// It knows no names itself, and does not guess what was meant.
package names
