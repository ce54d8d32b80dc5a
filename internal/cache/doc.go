// Package cache looks after the folder of what can be made again: built-in models and data,
// pre-processed samples, converted models, and what devices compiled.
//
//	release := cache.Hold(dir) // a run does: nothing is removed until it lets go
//	defer release()
//
//	entries, err := cache.List(dir)
//	freed, err := cache.Remove(dir, entries)
//
// Whoever uses the cache holds it, with as many others as want to; who removes something wants it
// alone, or does nothing. Only names of the form that this program gives its entries are
// entries: what else lies in the folder, which may be anybody's home, is not looked at. Links are
// not followed.
//
// The package makes nothing, and does not know what entries are good for.
package cache
