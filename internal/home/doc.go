// Package home says where this program keeps files: what it can make again in the cache
// directory, what it has downloaded in the data directory.
//
//	dir, err := home.CacheDir("models") // /home/me/.cache/mlperf/models
//
// $MLPERF_CACHE_DIR and $MLPERF_DATA_DIR name other folders. Without them the folders are
// those that the operating system has for the purpose: the XDG base directories, or on
// macOS and Windows their counterparts, with mlperf appended.
//
// Nothing is created here.
package home
