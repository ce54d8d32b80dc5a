// Package home knows the folders where this program keeps files: the cache directory for what it can make again, the data
// directory for what it has downloaded.
//
//	dir, err := home.CacheDir("models") // /home/me/.cache/mlperf/models
//
// $MLPERF_CACHE_DIR and $MLPERF_DATA_DIR name other folders. The defaults are those of the operating system: the XDG base
// directories, or their counterparts on macOS and Windows, with mlperf appended.
//
// The package also lists and clears the cache (cache.go): built-in models and data, pre-processed samples, converted models,
// and the engines that devices compiled.
//
//	release := home.Hold(dir) // during a run: the cache cannot be cleared
//	defer release()
//
//	entries, err := home.List(dir)
//	freed, err := home.Remove(dir, entries) // ErrInUse while a process holds it
//
// Only files with names of the program's own form are entries: other files in the folder, which may be a user's,
// are never touched, and links are not followed.
package home
