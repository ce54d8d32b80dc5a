// Package names compares the names that people type: of models, scenarios, modes, devices.
// Case, hyphens, underscores and spaces do not matter.
//
//	names.Same("Single-Stream", "singlestream") // true
//
// Nearest says what somebody may have meant. The package knows no names itself.
package names
