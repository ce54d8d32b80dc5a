// Package igbh reads the Illinois Graph Benchmark, heterogeneous form (IGBH): papers, their authors, institutes,
// fields of study, journals and conferences, each with 1024 numbers, and who is related to whom.
//
//	truth, err := igbh.OpenTruth("igbh", "")        // val_idx.pt and the labels: what scores need
//	data, err := igbh.Open("igbh", "")              // and where the features are
//	graph, err := data.Graph()                      // who is related to whom, in memory
//	reader, err := data.Reader()
//	err = reader.Read(igbh.Paper, nodes, features)  // rows of features, from the disk
//
// files.go finds the files of a folder and reads rows of arrays, with and without the header of NumPy: the largest files of IGBH
// have none. split.go draws the papers of the validation set as the reference does. graph.go builds the graph as the reference
// does (graph/R-GAT, dgl_utilities): citations both ways with exactly one of each paper of itself, the other relations both
// ways under two names.
//
// Features stay on the disk, since those of the full set have 2.2 TB: a read takes the rows of some nodes. The graph is in memory:
// 4 bytes an edge and 8 bytes a node and relation, 60 GB for the full set. Files are read twice to build it.
//
// Left out: the form of labels with 19 classes, and node_feat_fp16.pt, which the reference makes of the features.
package igbh
