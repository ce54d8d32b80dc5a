// Package download gets the official data sets and models, and checks those that are there.
//
// The Manifest (configs/downloads.json) says what exists, where it lies, under which licence, and which checksums its
// publishers give. An Item of it is one data set or model. Get brings an item into a folder of its own; Verify checks such a
// folder, also one that was filled by hand.
//
//	m, err := download.Load()
//	item, err := m.Lookup(download.Model, "resnet50")
//	got, err := download.Get(ctx, item, download.Options{Dir: "models/resnet50"})
//	fmt.Println(got.Path)
//
// A file comes over one connection into a part file (fetch.go). What breaks off, stalls, or is refused with a status that may
// pass is tried again; the next request, also of a later run, asks for the rest alone, with If-Range where no checksum is
// published, so that the parts are of one version. A file gets its name only when it is whole and has its checksum.
//
// Archives are unpacked inside the folder only (archive.go). Files and folders that the user has already are copied in
// (fromfile.go). The folder .mlperf-download inside the item's folder has part files, a lock, the receipt of a finished
// download, and SHA256SUMS, the checksums of all files as they were when they were installed (state.go).
//
// Count and Seed choose a part of ImageNet, COCO or OpenImages, and the annotations are cut to it (layout.go). For
// OpenImages the annotations are made from the published tables as the reference's openimages.py does (openimages.go).
//
// Official and Fetched tell official model files from others (known.go).
//
// The package asks no person whether a licence is accepted, and logs in nowhere.
package download
