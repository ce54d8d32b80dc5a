// Package download gets the official data sets and models, and checks the ones that
// are there.
//
// What exists, where it lies, under which licence, and which checksums its publishers
// give is data: the Manifest, configs/downloads.json. An Item of it is one data set or
// one model with its Files; a file may be an archive to unpack. Get brings an item into
// a folder of its own, Verify checks such a folder, also one that was filled by hand.
//
//	m, err := download.ParseManifest(configs.Downloads())
//	item, err := m.Lookup(download.Model, "resnet50")
//	got, err := download.Get(ctx, m, item, download.Options{Dir: "models/resnet50"})
//	fmt.Println(got.Path)
//
// # Fetching
//
// A file comes in chunks, several at a time, into a part file. A journal beside it says
// which chunks are there, so that an interrupted download goes on where it stopped, if
// the server's file is still the same: same size, same ETag or date of change. What
// breaks off, stalls, drips, or is refused with a status that may pass is asked for again, each
// time later. A server that ignores ranges is read in one go. An HTML page in place of a
// file is recognised. Mirrors are tried in order.
//
// A file gets its name only when it is whole and has its checksum. Where no checksum is
// published, the manifest has none, and what can be checked is the length alone.
//
// # Folders
//
// Item.UsualDir is where an item lies if nobody wants it elsewhere.
//
// The folder .mlperf-download inside an item's folder holds part files, the lock that
// makes two runs at once safe, the receipt of a finished download, and SHA256SUMS, the
// checksums of all files as they were when they were installed, in the format of
// sha256sum.
//
// Names in archives, manifests and lists come from elsewhere: everything is written
// through an os.Root, links in archives are left out, and sizes are limited.
//
// # Data sets
//
// Count and Seed choose a part of a data set of images; the annotations are cut to it.
// The choice depends on names and seed alone, and a smaller part is contained in a
// larger one. For OpenImages the annotations in COCO's form are made from the published
// tables as the reference's openimages.py does. Upscale makes the enlarged COCO that some
// submitters of SSD-ResNet34 used.
//
// # What is left out
//
// Asking a person whether a licence is accepted (package main does), logging in
// anywhere, torrents, and resuming from a server that does not know ranges.
package download
